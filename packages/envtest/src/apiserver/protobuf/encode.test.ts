import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonMap, KubeObject } from '@tidegate/kube';
import { decodeList, decodeWatchEvent } from '@tidegate/kube/protobuf';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { builtinSchema } from '../schema/builtin.ts';
import { decode } from '../schema/decode.ts';
import { loadDefinitions, loadFieldNumbers } from '../schema/generated.ts';
import { decodeProtobuf, encodeList, encodeObject, encodeWatchEvent, isEncodable } from './index.ts';
import { messageTypeNamed } from './types.ts';

const GOLDEN = join(import.meta.dirname, '../resources/golden');

/** Objects of all kinds, as a real server has written them. */
const objects = readdirSync(GOLDEN)
  .filter((file) => file.endsWith('.out.yaml'))
  .flatMap((file) => {
    const outcomes = parse(readFileSync(join(GOLDEN, file), 'utf8'), { version: '1.1' }) as {
      case: string;
      object?: KubeObject;
    }[];
    return outcomes.flatMap(({ case: name, object }) =>
      object === undefined ? [] : [[`${file.replace('.out.yaml', '')}: ${name}`, object] as const],
    );
  });

/** Recordings have `drawn` in place of values that differ from run to run. Protobuf has no kind of a nested object. */
const representable = (object: KubeObject): KubeObject =>
  JSON.parse(JSON.stringify(object), (key, value: unknown) => {
    if (value === 'drawn' && key.endsWith('Time')) return '2026-01-01T00:00:00Z';
    if (value === 'drawn' && key.endsWith('Port')) return undefined;
    if (key !== 'volumeClaimTemplates') return value;
    return (value as KubeObject[]).map(({ apiVersion: _, kind: __, ...claim }) => claim);
  }) as KubeObject;

/** The form in which the server stores and sends an object. */
const normalized = (object: KubeObject): KubeObject =>
  decode(object, { schema: builtinSchema(object.apiVersion, object.kind) }).object;

describe('field numbers', () => {
  it('are known for every field of every type', () => {
    const { definitions, structs } = loadDefinitions();
    // Types without fields have no facts, but they are messages too.
    const empty = Object.keys(definitions).filter((name) => {
      const { type, properties } = definitions[name] ?? {};
      return (
        type === 'object' &&
        properties === undefined &&
        definitions[name]?.['x-kubernetes-preserve-unknown-fields'] !== true
      );
    });
    const missing = [...Object.keys(structs), ...empty].flatMap((definition) => {
      const type = messageTypeNamed(definition);
      const names = (at: typeof type): string[] =>
        at.descending.flatMap(({ shape, type: inner, name }) =>
          shape === 'embedded' && typeof inner === 'function' ? names(inner()) : [name],
        );
      const known = new Set([...names(type), 'apiVersion', 'kind']);
      return Object.keys(definitions[definition]?.properties ?? {})
        .filter((field) => !known.has(field))
        .map((field) => `${definition}.${field}`);
    });
    expect(missing).toEqual([]);
    expect(Object.keys(loadFieldNumbers()).length).toBeGreaterThan(400);
  });

  it('exist for every kind', () => {
    const kinds = Object.keys(loadDefinitions().kinds).map((name) => {
      const slash = name.lastIndexOf('/');
      return { apiVersion: name.slice(0, slash), kind: name.slice(slash + 1) };
    });
    expect(kinds.filter((kind) => !isEncodable(kind))).toEqual([]);
  });
});

describe('objects of a real server', () => {
  it.each(objects)('%s', (_, object) => {
    const wanted = normalized(representable(object));
    expect(normalized(decodeProtobuf(encodeObject(wanted)))).toEqual(wanted);
  });
});

describe('values', () => {
  const roundTrip = (object: KubeObject): JsonMap => decodeProtobuf(encodeObject(object));

  it('keeps times, also before the year 100, and their fractions', () => {
    const lease = {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'x', creationTimestamp: '0001-01-01T00:00:02Z' },
      spec: { renewTime: '1969-12-31T23:59:59.000007Z', acquireTime: '2026-01-01T00:00:00.500000Z' },
    };
    expect(roundTrip(lease)).toEqual(lease);
  });

  it('keeps zero values of pointers, negative numbers and large numbers', () => {
    const deployment = {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata: { name: 'x', generation: 2 ** 52 },
      spec: { replicas: 0, minReadySeconds: -5, paused: false },
    };
    expect(roundTrip(deployment)).toEqual(deployment);
  });

  it('keeps all forms of JSON Schema in a CustomResourceDefinition', () => {
    const openAPIV3Schema = {
      type: 'object',
      properties: {
        open: { type: 'object', additionalProperties: true },
        closed: { type: 'object', additionalProperties: false },
        map: { type: 'object', additionalProperties: { type: 'number', maximum: 1.5 } },
        list: { type: 'array', items: { type: 'string', default: 'é', enum: ['é', null, { a: [1] }] } },
        tuple: { type: 'array', items: [{ type: 'string' }, { type: 'integer' }] },
        dependent: { type: 'object', dependencies: { a: ['b'], c: { type: 'object' } } },
        any: { 'x-kubernetes-preserve-unknown-fields': true, 'x-kubernetes-list-map-keys': ['a'] },
      },
    };
    const crd = {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: 'x' },
      spec: { versions: [{ name: 'v1', schema: { openAPIV3Schema } }] },
    };
    expect(roundTrip(crd)).toEqual(crd);
  });

  it('keeps map keys that are special in JavaScript', () => {
    const data = JSON.parse('{"__proto__":"a","constructor":"b","":"c"}') as Record<string, string>;
    const object = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'x' }, data };
    expect(JSON.stringify((roundTrip(object) as typeof object).data)).toBe(
      '{"":"c","__proto__":"a","constructor":"b"}',
    );
  });

  it('encodes the metadata of a custom resource, but not the resource', () => {
    const partial = {
      apiVersion: 'meta.k8s.io/v1',
      kind: 'PartialObjectMetadata',
      metadata: { name: 'x', labels: { a: 'b' } },
    };
    expect(roundTrip(partial)).toEqual(partial);
    expect(isEncodable({ apiVersion: 'shop.example.com/v1', kind: 'Widget' })).toBe(false);
  });
});

describe('lists and watches', () => {
  const service = (name: string): KubeObject => ({ apiVersion: 'v1', kind: 'Service', metadata: { name } });

  it('are read by the client library', () => {
    const metadata = { resourceVersion: '7', continue: 'next', remainingItemCount: 2 };
    const items = [service('a'), service('b')];
    const list = decodeList(encodeList({ apiVersion: 'v1', kind: 'ServiceList', metadata, items }));
    expect(list.metadata).toEqual(metadata);
    expect(list.items.map((item) => item.metadata.name)).toEqual(['a', 'b']);

    const frame = encodeWatchEvent('ADDED', service('a'));
    expect(frame.readUInt32BE()).toBe(frame.length - 4);
    expect(decodeWatchEvent(frame.subarray(4))).toMatchObject({
      type: 'ADDED',
      object: { apiVersion: 'v1', kind: 'Service', metadata: { name: 'a' } },
    });
  });
});
