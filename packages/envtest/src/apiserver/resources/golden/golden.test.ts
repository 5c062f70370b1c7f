import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import { applyMergePatch } from '@tidegate/kube/patch';
import { ApiError, invalid } from '@tidegate/serving';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decode } from '../../schema/decode.ts';
import { openStore } from '../../store/index.ts';
import { builtinResources } from '../index.ts';
import { ServiceAllocator } from '../service/allocator.ts';
import { noHooks } from '../testing.ts';
import type { RequestContext, ResourceDefinition } from '../types.ts';
import { validateObjectMeta, validateObjectMetaUpdate } from '../validation/metadata.ts';
import {
  type ColumnsByResource,
  columnShape,
  comparable,
  comparableCells,
  comparableText,
  type GoldenCase,
  goldenResources,
  type Outcome,
  readCases,
  readColumns,
  readOutcomes,
  writeColumns,
  writeOutcomes,
} from './cases.ts';
import { Recorder } from './recorder.ts';

const kubeconfig = process.env.GOLDEN_KUBECONFIG;
let definitions: ResourceDefinition[] = [];
let context: RequestContext;
let end: () => Promise<void>;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-golden-'));
  const store = await openStore({ directory });
  const allocator = new ServiceAllocator(store, { random: () => 0 });
  definitions = builtinResources(noHooks(allocator));
  context = {
    user: { username: 'kubernetes-admin', groups: ['system:masters', 'system:authenticated'] },
    now: new Date('2026-01-01T00:00:00Z'),
    store,
    dryRun: true,
    warn: () => {},
  };
  end = async () => {
    allocator.close();
    await store.close();
    await rm(directory, { recursive: true });
  };
});
afterAll(() => end());

function definitionOf(object: KubeObject): ResourceDefinition {
  const { group } = parseApiVersion(object.apiVersion);
  const found = definitions.find((d) => d.group === group && d.kind === object.kind);
  if (found === undefined) throw new Error(`no definition of ${object.apiVersion} ${object.kind}`);
  return found;
}

/** The steps from a request body to an object in the storage version. */
function read(definition: ResourceDefinition, body: KubeObject): KubeObject {
  const { version: name } = parseApiVersion(body.apiVersion);
  const version = definition.versions.find((v) => v.name === name);
  if (version === undefined) throw new Error(`${body.apiVersion} is not served`);
  const { object } = decode(structuredClone(body), { schema: version.schema });
  const stored = version.toStorage?.(object) ?? object;
  definition.strategy.defaults?.(stored);
  return stored;
}

function create(
  definition: ResourceDefinition,
  body: KubeObject,
): { object: KubeObject; warnings: string[] } {
  const object = read(definition, body);
  object.metadata.uid = '11111111-2222-3333-4444-555555555555';
  object.metadata.creationTimestamp = '2026-01-01T00:00:00Z';
  if (definition.namespaced) object.metadata.namespace = 'golden';
  if (definition.generation) object.metadata.generation = 1;
  const { strategy } = definition;
  strategy.prepareForCreate?.(object, context);
  const errors = [...validateObjectMeta(object.metadata, definition), ...(strategy.validate?.(object) ?? [])];
  if (errors.length > 0) throw invalid(definition, object.metadata.name ?? '', errors);
  return { object, warnings: strategy.warnings?.(object, undefined) ?? [] };
}

function update(definition: ResourceDefinition, old: KubeObject, patch: Record<string, unknown>) {
  const { strategy } = definition;
  const object = read(definition, applyMergePatch(old, patch));
  object.metadata.resourceVersion = '1';
  if (definition.subresources.status !== undefined) object.status = structuredClone(old.status);
  strategy.prepareForUpdate?.(object, old, context);
  const errors = [
    ...validateObjectMetaUpdate(object.metadata, old.metadata),
    ...(strategy.validate?.(object, old) ?? []),
    ...(strategy.validateUpdate?.(object, old) ?? []),
  ];
  if (errors.length > 0) throw invalid(definition, object.metadata.name ?? '', errors);
  return { object, warnings: strategy.warnings?.(object, old) ?? [] };
}

function run(golden: GoldenCase): Outcome {
  const definition = definitionOf(golden.create);
  const { version } = parseApiVersion(golden.create.apiVersion);
  const deprecation = definition.versions.find((v) => v.name === version)?.deprecationWarning;
  const withWarnings = (outcome: Outcome, warnings: string[]): Outcome => {
    const all = [...(deprecation === undefined ? [] : [deprecation]), ...warnings];
    return { ...outcome, ...(all.length > 0 && { warnings: all }) };
  };
  try {
    const created = create(definition, golden.create);
    const { object, warnings } =
      golden.patch === undefined
        ? created
        : update(definition, structuredClone(created.object), golden.patch);
    const served = definition.versions.find((v) => v.name === version);
    const converted = served?.fromStorage?.(object) ?? object;
    const shown = comparable(converted, golden);
    delete shown.metadata.generation;
    const cells = served?.printer.cells(converted, context.now) ?? [];
    return withWarnings(
      { case: golden.case, object: shown, cells: comparableCells(cells, golden) },
      warnings,
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return withWarnings({ case: golden.case, error: comparableText(error.status.message ?? '') }, []);
  }
}

/** Errors that come from a map have no fixed order. */
const expected = ({ object, ...rest }: Outcome): Outcome => {
  if (object === undefined) return rest;
  delete object.metadata.generation;
  return { ...rest, object };
};

const recording = (): void => {
  let recorder: Recorder;
  beforeAll(async () => {
    recorder = new Recorder(kubeconfig ?? '');
    await recorder.prepare();
  });
  afterAll(() => recorder.close());
  it.each(goldenResources())('%s', async (plural) => {
    const outcomes: Outcome[] = [];
    for (const golden of readCases(plural))
      outcomes.push(await recorder.record(definitionOf(golden.create), golden));
    writeOutcomes(plural, outcomes);
  });

  it('columns', async () => {
    const columns: ColumnsByResource = {};
    for (const definition of definitions) {
      const served = await recorder.columns(definition);
      if (served !== undefined) columns[`${definition.group}/${definition.plural}`] = served;
    }
    writeColumns(columns);
  });
};
if (kubeconfig !== undefined) describe('recording', recording);

it('shows the columns of a real server', () => {
  for (const [name, columns] of Object.entries(readColumns())) {
    const definition = definitions.find((d) => `${d.group}/${d.plural}` === name);
    const shown = definition?.versions[0]?.printer.columns ?? [];
    expect(shown.map(columnShape), name).toEqual(columns);
    expect(
      shown.every((column) => column.description !== ''),
      name,
    ).toBe(true);
  }
});

describe.each(goldenResources())('%s as a real server has them', (plural) => {
  const outcomes = new Map(kubeconfig === undefined ? readOutcomes(plural).map((o) => [o.case, o]) : []);
  it.each(readCases(plural).map((golden) => [golden.case, golden] as const))('%s', (name, golden) => {
    const wanted =
      kubeconfig === undefined ? outcomes.get(name) : readOutcomes(plural).find((o) => o.case === name);
    if (wanted === undefined) throw new Error('not recorded yet: see cases.ts');
    expect(run(golden)).toEqual(expected(wanted));
  });
});
