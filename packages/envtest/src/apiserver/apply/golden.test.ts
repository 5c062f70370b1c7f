/**
 * Sequences of writes with the recorded results of kube-apiserver 1.36: the object, its managedFields, or the error.
 * Times are the number of the step that set them.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { isJsonMap, type KubeObject, type ManagedFieldsEntry } from '@tidegate/kube';
import { ApiError } from '@tidegate/serving';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { applyJsonPatch } from '../patch/json-patch.ts';
import { applyMergePatch } from '../patch/merge-patch.ts';
import { applyStrategicMergePatch } from '../patch/strategic-merge.ts';
import { builtinSchema } from '../schema/builtin.ts';
import { decode } from '../schema/decode.ts';
import type { Schema } from '../schema/types.ts';
import { trackUpdate } from './managed-fields.ts';
import { applyConfiguration } from './server-side-apply.ts';

const DIRECTORY = new URL('./testdata/', import.meta.url);
const EPOCH = Date.parse('2026-01-01T00:00:00Z');

interface Step {
  manager: string;
  force?: boolean;
  subresource?: 'status';
  create?: object;
  update?: object;
  apply?: object;
  mergePatch?: unknown;
  jsonPatch?: unknown;
  strategicPatch?: unknown;
}

interface Scenario {
  apiVersion: string;
  kind: string;
  /** Schema of a custom resource. */
  schema?: Schema;
  steps: Step[];
}

/** The steps of the API server around patch and apply, as far as these cases need them. */
class Server {
  readonly #scenario: Scenario;
  readonly #schema: Schema;
  #live: KubeObject | undefined;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
    this.#schema = scenario.schema ?? builtinSchema(scenario.apiVersion, scenario.kind);
  }

  write(step: Step, number: number): KubeObject {
    const context = {
      live: this.#live,
      manager: step.manager,
      apiVersion: this.#scenario.apiVersion,
      subresource: step.subresource ?? '',
      now: new Date(EPOCH + number * 1000),
      schema: this.#schema,
      resetFields: this.#resetFields(step),
    };
    const { kind } = this.#scenario;
    const before = structuredClone(this.#live);
    let object: KubeObject;
    if (step.apply !== undefined) {
      const applied = this.#complete(step.apply);
      object = this.#decoded(applyConfiguration({ ...context, kind, applied, force: step.force ?? false }));
    } else {
      const updated = this.#decoded(this.#updated(step));
      const { managedFields: _, ...metadata } = updated.metadata;
      object = { ...updated, metadata: { ...metadata, managedFields: trackUpdate({ ...context, updated }) } };
    }
    expect(this.#live, 'the stored object is not changed').toEqual(before);
    this.#live = this.#keepReset(object, step);
    return this.#live;
  }

  #complete(given: object): KubeObject {
    const { apiVersion, kind } = this.#scenario;
    const metadata = 'metadata' in given ? (given.metadata as object) : {};
    return { apiVersion, kind, ...given, metadata: { name: 'x', ...metadata } };
  }

  #updated(step: Step): KubeObject {
    const whole = step.create ?? step.update;
    if (whole !== undefined) return this.#complete(whole);
    const live = this.#live as KubeObject;
    if (step.jsonPatch !== undefined) return applyJsonPatch(live, step.jsonPatch);
    if (step.mergePatch !== undefined) return applyMergePatch(live, step.mergePatch);
    return applyStrategicMergePatch(live, step.strategicPatch, this.#schema);
  }

  /** Decodes as Go decodes a built-in kind, but keeps an empty list of managers from the client. */
  #decoded(object: KubeObject): KubeObject {
    if (this.#scenario.schema !== undefined) return object;
    const { managedFields } = object.metadata;
    const decoded = decode(object, { schema: this.#schema }).object;
    return { ...decoded, metadata: { ...decoded.metadata, managedFields } };
  }

  #resetFields({ subresource }: Step): string[] {
    if (subresource === undefined) return ['status'];
    return this.#scenario.schema === undefined ? ['spec', 'metadata.labels'] : ['spec', 'metadata'];
  }

  #keepReset(object: KubeObject, { subresource }: Step): KubeObject {
    if (subresource === undefined) return { ...object, status: this.#live?.status };
    const { managedFields } = object.metadata;
    const live = this.#live as KubeObject;
    return { ...live, status: object.status, metadata: { ...live.metadata, managedFields } };
  }
}

/** Go omits empty values of some fields; the difference does not matter here. */
function compact(value: unknown): unknown {
  if (Array.isArray(value)) return value.length === 0 ? undefined : value.map((item) => compact(item) ?? {});
  if (!isJsonMap(value)) return value ?? undefined;
  const kept = Object.entries(value)
    .map(([key, child]) => [key, compact(child)] as const)
    .filter(([, child]) => child !== undefined);
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

function outcomeOf(server: Server, step: Step, number: number, scenario: Scenario): unknown {
  try {
    const { apiVersion: _v, kind: _k, metadata, status, ...content } = server.write(step, number);
    const { managedFields, ...otherMetadata } = metadata;
    const shown = {
      metadata: otherMetadata,
      ...content,
      ...(scenario.schema === undefined ? {} : { status }),
    };
    return { object: compact(shown), managedFields: managedFields?.map(withStepNumber) };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    const { code, reason, message, details } = error.status;
    return { code, reason, message, details };
  }
}

const withStepNumber = ({ time, ...entry }: ManagedFieldsEntry): object => ({
  ...entry,
  ...(time === undefined ? {} : { time: (Date.parse(time) - EPOCH) / 1000 }),
});

interface Outcome {
  object?: unknown;
  managedFields?: { fieldsV1: unknown }[];
}

describe.each(readdirSync(DIRECTORY).filter((name) => name.endsWith('.in.yaml')))('%s', (name) => {
  const scenario = parse(readFileSync(new URL(name, DIRECTORY), 'utf8')) as Scenario;
  const recorded = readFileSync(new URL(name.replace('.in.', '.out.'), DIRECTORY), 'utf8');
  const expected = (parse(recorded) as Outcome[]).map((outcome) =>
    outcome.object === undefined ? outcome : { ...outcome, object: compact(outcome.object) },
  );
  const server = new Server(scenario);
  it.each(scenario.steps.map((step, i) => [i, Object.keys(step)[0], step.manager, step] as const))(
    '%i: %s by %s',
    (i, _operation, _manager, step) => {
      const outcome = outcomeOf(server, step, i, scenario) as Outcome;
      expect(outcome).toEqual(expected[i]);
      // toEqual ignores the order of keys, but fieldsV1 has a fixed order. (Custom resources are stored with all keys
      // sorted as text, which does not test the order of fieldsV1.)
      if (scenario.schema !== undefined) return;
      const texts = (o: Outcome | undefined): string[] | undefined =>
        o?.managedFields?.map((entry) => JSON.stringify(entry.fieldsV1));
      expect(texts(outcome)).toEqual(texts(expected[i]));
    },
  );
});
