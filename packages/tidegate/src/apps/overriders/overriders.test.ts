/** What golden files do not show: rules that are not about an object, and rules that can not do what they say. */

import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { describe, expect, it } from 'vitest';
import { read } from '../json.ts';
import { workloadOf } from '../render/workloads.ts';
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

/** The object after it, or what is wrong. The object that came in is never changed. */
function apply<R>(overrider: Overrider<R>, rule: R, to: KubeObject = object): unknown {
  const result = overrider(to, rule, workloadOf(to)!);
  expect(JSON.stringify(object)).toBe(before);
  return result instanceof OverrideError ? `${result.path}: ${result.message}` : result;
}
const container = (result: unknown): Record<string, unknown> => {
  const found = read(result, ['spec', 'template', 'spec', 'containers', '0']);
  if (!isJsonMap(found)) throw new Error(`no container: ${String(result)}`);
  return found;
};

describe('replicas', () => {
  it('0 is a value', () => {
    expect(read(apply(overrideReplicas, 0), ['spec', 'replicas'])).toBe(0);
  });

  it('are no concern of a DaemonSet', () => {
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

  it('replaces in place, in the order of the template, and appends what is new', () => {
    const { env } = container(apply(overrideEnv, rule('replace', 'Z', 'B', 'A'))) as {
      env: { name: string }[];
    };
    expect(env.map(({ name }) => name)).toEqual(['A', 'B', 'Z']);
    expect(env).toContainEqual({ name: 'B', value: 'new' });
  });

  it('keeps all of a fieldRef', () => {
    const value = [{ name: 'N', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } }];
    const { env } = container(apply(overrideEnv, { containerName: 'c', operator: 'add', value }));
    expect(env).toContainEqual(value[0]);
  });

  it('does not add what is there, nor remove what is not', () => {
    expect(apply(overrideEnv, rule('add', 'A'))).toBe(`${at}: A is set already: use replace`);
    expect(apply(overrideEnv, rule('remove', 'A', 'Q'))).toBe(`${at}: there is no Q to remove`);
    expect(apply(overrideEnv, rule('remove', 'Q'))).toBeUndefined();
  });

  it('is no concern of an object without the container', () => {
    expect(apply(overrideEnv, { ...rule('add', 'Z'), containerName: 'other' })).toBeUndefined();
  });
});

it('args: removes equal words only', () => {
  const remove = (...value: string[]) => ({ containerName: 'c', operator: 'remove' as const, value });
  expect(container(apply(overrideArgs, remove('--a'))).args).toEqual(['--b']);
  expect(apply(overrideArgs, remove('--a', '--c'))).toBe(
    '/spec/template/spec/containers/0/args: there is no --c to remove',
  );
  expect(apply(overrideArgs, remove('--c'))).toBeUndefined();
});

it('resources: makes the maps that are missing, and takes names with a slash', () => {
  const limits = { 'nvidia.com/gpu': 1 };
  expect(container(apply(overrideResources, { containerName: 'c', value: { limits } })).resources).toEqual({
    limits,
  });
});

it('labels: adds only what is not otherwise, replaces and removes only what is there', () => {
  expect(apply(overrideLabels, { operator: 'add', value: { a: '1', c: '3' } })).toMatchObject({
    metadata: { labels: { a: '1', b: '2', c: '3' } },
  });
  expect(apply(overrideLabels, { operator: 'add', value: { a: '9' } })).toBe(
    '/metadata/labels: a is set already: use replace',
  );
  expect(apply(overrideLabels, { operator: 'replace', value: { a: '9', z: '9' } })).toBe(
    '/metadata/labels: there is no z to replace',
  );
  expect(apply(overrideLabels, { operator: 'remove', value: { z: '' } })).toBeUndefined();
});

it('tolerations: names what is not there to remove', () => {
  expect(apply(overrideTolerations, { operator: 'remove', value: [{ key: 'x' }, { key: 'y' }] })).toBe(
    '/spec/template/spec/tolerations: there is no {"key":"y"} to remove',
  );
});

describe('patch', () => {
  const patch = (...operations: { op: string; path: string; from?: string; value?: unknown }[]) =>
    apply(overrideByPatch, { patch: operations });

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
    [{ op: 'add', path: '/spec/none/deep', value: 1 }, 'add what is above it first'],
    [{ op: 'add', path: '/spec/template/spec/containers/5', value: {} }, 'a list of 1 has no place "5"'],
    [{ op: 'add', path: '/spec/x' }, 'to add, say in value what'],
    [{ op: 'remove', path: '/spec/none' }, 'there is nothing at this path'],
    [{ op: 'test', path: '/metadata/labels/a', value: '2' }, 'the test failed'],
    [{ op: 'frob', path: '/spec', value: 1 }, '"frob" is none of add'],
    [{ op: 'add', path: 'spec', value: 1 }, 'a path is text that begins with a slash'],
    [{ op: 'replace', path: '/metadata/name', value: 'n' }, 'a patch can not change apiVersion, kind, name'],
  ])('%j can not be done', (operation, message) => {
    expect(patch(operation)).toContain(message);
  });

  it('does all of it or nothing', () => {
    expect(patch({ op: 'add', path: '/spec/x', value: 1 }, { op: 'remove', path: '/spec/none' })).toBe(
      '/spec/none: operation 1 of the patch: there is nothing at this path',
    );
  });
});
