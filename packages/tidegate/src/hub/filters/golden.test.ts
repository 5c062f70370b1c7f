/**
 * Applies each filter to its recorded examples, `<filter>/testdata/*.in.yaml`, and compares the results with the files
 * `*.out.yaml`. Services, NodePools and NodeGroups in the input are also what the hub knows of the cluster.
 * `npx vitest run packages/tidegate/src/hub/filters -u` writes the results again; review the diff before you commit it.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type KubeObject, Metrics, silentLogger } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { allFilters } from './all.ts';
import type { Filter, FilterContext } from './filter.ts';
import { contextOf } from './testing/context.ts';

const KINDS: Record<string, string> = {
  services: 'Service',
  endpoints: 'Endpoints',
  endpointslices: 'EndpointSlice',
  configmaps: 'ConfigMap',
  pods: 'Pod',
};

/** The first document may set fields of the context, for example the address of the hub, instead of an object. */
function readInput(text: string): { where: Partial<FilterContext>; objects: KubeObject[] } {
  const documents = parseAllDocuments(text).map((document) => document.toJS() as KubeObject);
  const [first, ...others] = documents;
  if (first?.kind !== undefined) return { where: {}, objects: documents };
  return { where: first as Partial<FilterContext>, objects: others };
}

describe.each(allFilters({ log: silentLogger, metrics: new Metrics() }))('$name', (filter: Filter) => {
  const directory = new URL(`./${filter.name}/testdata/`, import.meta.url);

  it('has recorded examples', () => {
    expect(existsSync(directory)).toBe(true);
  });

  it.each(readdirSync(directory).filter((name) => name.endsWith('.in.yaml')))('%s', async (name) => {
    const { where, objects } = readInput(readFileSync(new URL(name, directory), 'utf8'));
    const { context } = contextOf(objects, where);
    const kinds = filter.resources.map(({ resource }) => KINDS[resource]);
    const outcomes = objects
      .filter(({ kind }) => kinds.includes(kind))
      .map((object) => {
        const before = structuredClone(object);
        const after = filter.apply(object, context);
        expect(object, 'a filter must not modify the object, which is shared').toEqual(before);
        if (after !== undefined) expect(filter.apply(after, context)).toEqual(after);
        const { name: of } = object.metadata;
        return after === undefined ? { [`${object.kind} ${of}`]: 'is not shown' } : after;
      });
    const text = outcomes
      .map((each) => stringify(each, { aliasDuplicateObjects: false, lineWidth: 0 }))
      .join('---\n');
    await expect(text).toMatchFileSnapshot(fileURLToPath(new URL(name.replace('.in.', '.out.'), directory)));
  });
});
