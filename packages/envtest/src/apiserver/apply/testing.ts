/** A small schema with every kind of list and map, and matching random values for property tests. */

import type { KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import type { Schema } from '../schema/types.ts';

export const WIDGET_SCHEMA: Schema = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer' },
        tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
        plain: { type: 'array', items: { type: 'string' } },
        labels: { type: 'object', additionalProperties: { type: 'string' } },
        whole: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          additionalProperties: { type: 'string' },
        },
        free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        ports: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['port', 'proto'],
          'x-kubernetes-patch-strategy': 'merge',
          'x-kubernetes-patch-merge-key': 'port',
          items: {
            type: 'object',
            properties: {
              port: { type: 'integer' },
              proto: { type: 'string', default: 'TCP' },
              note: { type: 'string' },
            },
          },
        },
      },
    },
  },
};

const word = fc.constantFrom('a', 'b', 'c', 'd');
const optional = { requiredKeys: [] as [] };

const port = fc.record(
  { port: fc.constantFrom(1, 9, 80, 443), proto: fc.constantFrom('TCP', 'UDP'), note: word },
  { requiredKeys: ['port'] },
);

export const spec = fc.record(
  {
    size: fc.integer({ min: 0, max: 3 }),
    tags: fc.uniqueArray(word),
    plain: fc.array(word, { maxLength: 2 }),
    labels: fc.dictionary(word, word, { maxKeys: 3 }),
    whole: fc.dictionary(word, word, { maxKeys: 2 }),
    free: fc.dictionary(word, fc.oneof(word, fc.array(word), fc.dictionary(word, word)), { maxKeys: 2 }),
    ports: fc.uniqueArray(port, { maxLength: 4, selector: (p) => `${p.port}/${p.proto ?? 'TCP'}` }),
  },
  optional,
);

export const widget = (content: object, metadata: KubeObject['metadata'] = { name: 'w' }): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata,
  spec: content,
});
