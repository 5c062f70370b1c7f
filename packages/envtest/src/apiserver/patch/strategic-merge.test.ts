import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { spec, WIDGET_SCHEMA, widget } from '../apply/testing.ts';
import { builtinSchema } from '../schema/builtin.ts';
import { applyMergePatch } from './merge-patch.ts';
import { applyStrategicMergePatch } from './strategic-merge.ts';

// What the real server answers is recorded in ../apply/testdata: deployment-lists, service-ports, configmap-patches.

const POD = builtinSchema('v1', 'Pod');
const pod = (podSpec: object): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p' },
  spec: podSpec,
});
const patched = (before: object, patch: object): unknown => {
  const result = applyStrategicMergePatch(pod(before), { spec: patch }, POD);
  return (result as { spec: unknown }).spec;
};

/** Strategic merge knows ports by number alone; patching two with one number is a known trap of the real server too. */
const withDistinctPorts = spec.map(({ ports, ...rest }) => ({
  ...rest,
  ...(ports === undefined ? {} : { ports: [...new Map(ports.map((port) => [port.port, port])).values()] }),
}));

describe('applyStrategicMergePatch', () => {
  it('is idempotent and changes neither input', () => {
    fc.assert(
      fc.property(withDistinctPorts, withDistinctPorts, (before, change) => {
        const target = widget(before);
        const patch = { spec: change };
        const inputs = JSON.stringify([target, patch]);
        const once = applyStrategicMergePatch(target, patch, WIDGET_SCHEMA);
        expect(applyStrategicMergePatch(once, patch, WIDGET_SCHEMA)).toEqual(once);
        expect(JSON.stringify([target, patch])).toBe(inputs);
      }),
    );
  });

  it('is a merge patch where the schema has no strategy', () => {
    const withoutPorts = spec.map(({ ports: _, ...rest }) => rest);
    fc.assert(
      fc.property(withoutPorts, withoutPorts, (before, change) => {
        const patch = { spec: change };
        expect(applyStrategicMergePatch(widget(before), patch, WIDGET_SCHEMA)).toEqual(
          applyMergePatch(widget(before), patch),
        );
      }),
    );
  });

  it('interleaves items of the patch with those that only the server knows', () => {
    const env = (...names: string[]): object[] => names.map((name) => ({ name }));
    const before = { containers: [{ name: 'c', env: env('a', 'b', 'c', 'd') }] };
    const change = { containers: [{ name: 'c', env: env('d', 'n', 'b') }] };
    expect(patched(before, change)).toEqual({
      containers: [{ name: 'c', env: env('a', 'c', 'd', 'n', 'b') }],
    });
  });

  it('drops directives and nulls of what it adds as a whole', () => {
    const change = {
      volumes: [{ name: 'v', emptyDir: { medium: null }, $retainKeys: ['name', 'emptyDir'] }],
      affinity: { nodeAffinity: { $patch: 'delete' } },
    };
    expect(patched({}, change)).toEqual({ volumes: [{ name: 'v', emptyDir: {} }], affinity: {} });
  });

  it('replaces a volume’s source instead of adding a second', () => {
    const before = { volumes: [{ name: 'v', emptyDir: {} }] };
    const change = { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: { path: '/x' } }] };
    expect(patched(before, change)).toEqual({ volumes: [{ name: 'v', hostPath: { path: '/x' } }] });
  });

  it.each([
    [{ containers: [{ image: 'x' }] }, 'map: map[image:x] does not contain declared merge key: name'],
    [{ containers: [{ name: 'c', $patch: 'merge' }] }, 'merging lists cannot yet be specified in the patch'],
    [{ containers: [{ name: 'c', $patch: 'x' }] }, 'unknown patch type: x in map: map[$patch:x name:c]'],
    [{ '$setElementOrder/containers': 1 }, 'expected a []interface {}, but received a int64'],
    [{ containers: ['c'] }, 'list element types are not identical: [[map[image:i name:c]] [c]]'],
    [{ $deleteFromPrimitiveList: [] }, 'invalid patch format of primitive list'],
    [{ $setElementOrder: [] }, 'invalid patch format of setElementOrder list'],
    [
      { '$setElementOrder/containers': [{ name: 'd' }], containers: [{ name: 'c' }] },
      "The order in patch list:\n[map[name:c]]\n doesn't match $setElementOrder list:\n[map[name:d]]\n",
    ],
  ])('%j: %s', (change, message) => {
    expect(() => patched({ containers: [{ name: 'c', image: 'i' }] }, change)).toThrow(message);
  });
});
