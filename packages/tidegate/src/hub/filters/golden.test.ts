/**
 * Every `<filter>/testdata/*.in.yaml` through its filter; Services, NodePools and NodeGroups are what the hub knows.
 * `npx vitest run src/hub/filters -u` writes what comes out anew; read the difference before it is committed.
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

/** The first document may say where the hub is instead of being an object. */
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
        expect(object, 'objects are shared: a filter never changes one').toEqual(before);
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
