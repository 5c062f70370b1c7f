/** Cases that the golden files do not show: rules that do not match an object, and rules that cannot be applied. */

import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import type { PatchOverrider } from '../../api/index.ts';
import { read } from '../json.ts';
import { workloadOf } from '../workloads.ts';
import { overrideArgs } from './args.ts';
import { overrideEnv } from './env.ts';
import { overrideLabels } from './labels.ts';
import { OverrideError, type Overrider } from './overrider.ts';
import { overrideByPatch } from './patch.ts';
import { overrideReplicas } from './replicas.ts';
import { overrideResources } from './resources.ts';
import { overrideTolerations } from './tolerations.ts';

const object: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd', labels: { a: '1', b: '2' } },
  spec: {
    template: {
      spec: {
        tolerations: [{ key: 'x', operator: 'Exists' }],
        containers: [
          {
            name: 'c',
            args: ['--a', '--b'],
            env: [
              { name: 'A', value: '1' },
              { name: 'B', value: '2' },
            ],
          },
        ],
      },
    },
  },
};
const before = JSON.stringify(object);

/** Returns the changed object, or the error as text. Asserts that the input is not changed. */
function apply<R>(overrider: Overrider<R>, rule: R, to: KubeObject = object): unknown {
  const result = overrider(to, rule, workloadOf(to)!, () => {});
  expect(JSON.stringify(object)).toBe(before);
  return result instanceof OverrideError ? `${result.path}: ${result.message}` : result;
}
const byPatch: Overrider<PatchOverrider> = (to, rule, _workload, charge) => overrideByPatch(to, rule, charge);
const container = (result: unknown): Record<string, unknown> => {
  const found = read(result, ['spec', 'template', 'spec', 'containers', '0']);
  if (!isJsonMap(found)) throw new Error(`no container: ${String(result)}`);
  return found;
};

describe('replicas', () => {
  it('can be set to 0', () => {
    expect(read(apply(overrideReplicas, 0), ['spec', 'replicas'])).toBe(0);
  });

  it('do not match a DaemonSet', () => {
    expect(apply(overrideReplicas, 2, { ...object, kind: 'DaemonSet' })).toBeUndefined();
  });
});

describe('env', () => {
  const at = '/spec/template/spec/containers/0/env';
  const rule = (operator: 'add' | 'remove' | 'replace', ...names: string[]) => ({
    containerName: 'c',
    operator,
    value: names.map((name) => ({ name, value: 'new' })),
  });

  it('replaces variables in the order of the template, and appends new variables', () => {
    const { env } = container(apply(overrideEnv, rule('replace', 'Z', 'B', 'A'))) as {
      env: { name: string }[];
    };
    expect(env.map(({ name }) => name)).toEqual(['A', 'B', 'Z']);
    expect(env).toContainEqual({ name: 'B', value: 'new' });
  });

  it('keeps a fieldRef unchanged', () => {
    const value = [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }];
    const { env } = container(apply(overrideEnv, { containerName: 'c', operator: 'add', value }));
    expect(env).toContainEqual(value[0]);
  });

  it('rejects adding a variable that exists, and removing one that does not', () => {
    expect(apply(overrideEnv, rule('add', 'A'))).toBe(
      `${at}: cannot add A: already set; use operator replace`,
    );
    expect(apply(overrideEnv, rule('remove', 'A', 'Q'))).toBe(`${at}: cannot remove Q: not found`);
    expect(apply(overrideEnv, rule('remove', 'Q'))).toBeUndefined();
  });

  it('does not match an object without the container', () => {
    expect(apply(overrideEnv, { ...rule('add', 'Z'), containerName: 'other' })).toBeUndefined();
  });
});

it('args: removes only strings that are equal', () => {
  const remove = (...value: string[]) => ({ containerName: 'c', operator: 'remove' as const, value });
  expect(container(apply(overrideArgs, remove('--a'))).args).toEqual(['--b']);
  expect(apply(overrideArgs, remove('--a', '--c'))).toBe(
    '/spec/template/spec/containers/0/args: cannot remove --c: not found',
  );
  expect(apply(overrideArgs, remove('--c'))).toBeUndefined();
});

it('resources: creates missing maps, and accepts names with a slash', () => {
  const limits = { 'nvidia.com/gpu': 1 };
  expect(container(apply(overrideResources, { containerName: 'c', value: { limits } })).resources).toEqual({
    limits,
  });
});

it('labels: adds only keys without another value, and replaces and removes only existing keys', () => {
  expect(apply(overrideLabels, { operator: 'add', value: { a: '1', c: '3' } })).toMatchObject({
    metadata: { labels: { a: '1', b: '2', c: '3' } },
  });
  expect(apply(overrideLabels, { operator: 'add', value: { a: '9' } })).toBe(
    '/metadata/labels: cannot add a: already set; use operator replace',
  );
  expect(apply(overrideLabels, { operator: 'replace', value: { a: '9', z: '9' } })).toBe(
    '/metadata/labels: cannot replace z: not found',
  );
  expect(apply(overrideLabels, { operator: 'remove', value: { z: '' } })).toBeUndefined();
});

it('tolerations: names the tolerations that cannot be removed because they do not exist', () => {
  expect(apply(overrideTolerations, { operator: 'remove', value: [{ key: 'x' }, { key: 'y' }] })).toBe(
    '/spec/template/spec/tolerations: cannot remove {"key":"y"}: not found',
  );
});

it('replaces resource claims by name, and keeps the others', () => {
  const withClaims = (claims: object[]) => ({
    ...object,
    spec: { template: { spec: { containers: [{ name: 'c', resources: { claims } }] } } },
  });
  const value = { claims: [{ name: 'gpu', request: 'small' }] };
  const result = apply(
    overrideResources,
    { containerName: 'c', value },
    withClaims([{ name: 'gpu' }, { name: 'fpga' }]),
  );
  expect(container(result).resources).toEqual({
    claims: [{ name: 'fpga' }, { name: 'gpu', request: 'small' }],
  });
});

describe('patch', () => {
  const patch = (...operations: { op: string; path: string; from?: string; value?: unknown }[]) =>
    apply(byPatch, { patch: operations });

  it.each([
    [{ op: 'add', path: '/spec/paused', value: true }, ['spec', 'paused'], true],
    [{ op: 'add', path: '/metadata/labels/a.b~1c', value: 'v' }, ['metadata', 'labels', 'a.b/c'], 'v'],
    [{ op: 'remove', path: '/metadata/labels/a' }, ['metadata', 'labels'], { b: '2' }],
    [{ op: 'replace', path: '/metadata/labels/a', value: 'v' }, ['metadata', 'labels', 'a'], 'v'],
    [{ op: 'copy', from: '/metadata/labels/a', path: '/spec/copy' }, ['spec', 'copy'], '1'],
    [
      { op: 'move', from: '/metadata/labels/a', path: '/metadata/labels/c' },
      ['metadata', 'labels'],
      { b: '2', c: '1' },
    ],
    [
      { op: 'add', path: '/spec/template/spec/containers/0/args/1', value: '--new' },
      ['spec', 'template', 'spec', 'containers', '0', 'args'],
      ['--a', '--new', '--b'],
    ],
    [
      { op: 'remove', path: '/spec/template/spec/containers/0/args/0' },
      ['spec', 'template', 'spec', 'containers', '0', 'args'],
      ['--b'],
    ],
  ])('%j', (operation, path, expected) => {
    expect(read(patch(operation), path)).toEqual(expected);
  });

  it.each([
    [
      { op: 'add', path: '/spec/none/deep', value: 1 },
      'the parent of this path does not exist: add it first',
    ],
    [
      { op: 'add', path: '/spec/template/spec/containers/5', value: {} },
      '"5" is not a valid index of a list with 1 items',
    ],
    [{ op: 'add', path: '/spec/x' }, 'value is required for operation add'],
    [{ op: 'remove', path: '/spec/none' }, 'this path does not exist'],
    [{ op: 'test', path: '/metadata/labels/a', value: '2' }, 'the test failed'],
    [{ op: 'frob', path: '/spec', value: 1 }, 'unsupported operation "frob"'],
    [{ op: 'add', path: 'spec', value: 1 }, 'a path must be a JSON Pointer, which starts with a slash'],
    [{ op: 'replace', path: '/metadata/name', value: 'n' }, 'a patch cannot change apiVersion, kind, name'],
  ])('%j cannot be applied', (operation, message) => {
    expect(patch(operation)).toContain(message);
  });

  it('applies all operations or none', () => {
    expect(patch({ op: 'add', path: '/spec/x', value: 1 }, { op: 'remove', path: '/spec/none' })).toBe(
      '/spec/none: operation 1 of the patch: this path does not exist',
    );
  });
});
