import type { KubeObject } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ImageOverrider } from '../../api/index.ts';
import { read } from '../json.ts';
import { workloadOf } from '../workloads.ts';
import { overrideImage } from './image.ts';
import { formatImageName, parseImageName } from './image-name.ts';
import { OverrideError } from './overrider.ts';

const DIGEST = `sha256:${'0123456789abcdef'.repeat(4)}`;
const OTHER = `sha256:${'f'.repeat(64)}`;

const deployment = (images: string[], initImages: string[] = []): KubeObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'd' },
  spec: {
    template: {
      spec: {
        containers: images.map((image, i) => ({ name: `c${i}`, image })),
        initContainers: initImages.map((image, i) => ({ name: `i${i}`, image })),
      },
    },
  },
});
const override = (object: KubeObject, rule: ImageOverrider) =>
  overrideImage(object, rule, workloadOf(object)!, () => {});
const imageAt = (object: unknown, list: string, index: number): unknown =>
  read(object, ['spec', 'template', 'spec', list, String(index), 'image']);

/** Applies a rule to an image. Returns the new image, undefined if the rule does not match, or the error. */
function outcome(image: string, [component, operator, value]: [string, string, string?]): unknown {
  const rule = { component, operator, ...(value !== undefined && { value }) } as ImageOverrider;
  const result = override(deployment([image]), rule);
  if (result instanceof OverrideError) return { error: result.message, at: result.path };
  return result && imageAt(result, 'containers', 0);
}
const error = (message: string) => ({
  error: expect.stringContaining(message),
  at: '/spec/template/spec/containers/0/image',
});

describe('image names', () => {
  it.each<[string, [string, string, string?], unknown]>([
    ['nginx', ['Registry', 'replace', 'reg.io'], 'reg.io/nginx'],
    ['nginx', ['registry', 'replace', 'reg.io'], 'reg.io/nginx'],
    ['nginx', ['Registry', 'add', 'reg.io'], 'reg.io/nginx'],
    ['docker.io/library/nginx:1', ['Registry', 'remove'], 'library/nginx:1'],
    ['reg:5000/a/b:1', ['Registry', 'replace', 'x.io'], 'x.io/a/b:1'],
    ['localhost/a:1', ['Registry', 'replace', 'x.io:1'], 'x.io:1/a:1'],
    ['k8s.gcr.io/p:3', ['Registry', 'add', '.cn'], 'k8s.gcr.io.cn/p:3'],
    ['myreg/nginx:1', ['Registry', 'replace', 'r.io'], 'r.io/myreg/nginx:1'],
    [`nginx:1.2@${DIGEST}`, ['Registry', 'replace', 'r.io'], `r.io/nginx:1.2@${DIGEST}`],
    [`r.io/nginx:1.2@${DIGEST}`, ['Registry', 'remove'], `nginx:1.2@${DIGEST}`],
    [`r.io/nginx:1.2@${DIGEST}`, ['Repository', 'replace', 'b/c'], `r.io/b/c:1.2@${DIGEST}`],
    ['r.io/a:1', ['Repository', 'add', '/b'], 'r.io/a/b:1'],
    ['nginx:1', ['Tag', 'replace', DIGEST], `nginx@${DIGEST}`],
    ['nginx:1', ['Tag', 'replace', `@${DIGEST}`], `nginx@${DIGEST}`],
    ['nginx:1', ['Tag', 'replace', ':v2'], 'nginx:v2'],
    ['nginx:1', ['Tag', 'replace', `v2@${DIGEST}`], `nginx:v2@${DIGEST}`],
    ['nginx', ['Tag', 'replace', 'v2'], 'nginx:v2'],
    [`nginx@${DIGEST}`, ['Tag', 'replace', 'v2'], 'nginx:v2'],
    [`nginx:1@${DIGEST}`, ['Tag', 'replace', OTHER], `nginx@${OTHER}`],
    ['nginx:1', ['tag', 'add', '-slim'], 'nginx:1-slim'],
    ['nginx', ['Tag', 'add', 'v1'], 'nginx:v1'],
    ['reg:5000/nginx', ['Tag', 'add', 'v1'], 'reg:5000/nginx:v1'],
    [`nginx:1@${DIGEST}`, ['Tag', 'remove'], 'nginx'],
    ['nginx', ['Tag', 'remove'], undefined],
    ['nginx', ['Registry', 'remove'], undefined],
    ['nginx', ['Tag', 'add', '-slim'], error('"-slim" is not a valid tag')],
    ['nginx:1', ['Tag', 'replace', '@sha256:12'], error('"sha256:12" is not a valid digest')],
    [`nginx@${DIGEST}`, ['Tag', 'add', '-slim'], error('pinned to sha256:')],
    ['r.io/a:1', ['Repository', 'remove'], error('the repository of an image cannot be removed')],
    ['r.io/a:1', ['Repository', 'replace', '/b'], error('"/b" is not a valid repository')],
    ['nginx', ['Registry', 'replace', 'myreg'], error('"myreg" is not a valid registry')],
    ['nginx', ['Registry', 'replace', 'r.io/sub'], error('"r.io/sub" is not a valid registry')],
    ['nginx', ['Registry', 'add', '.cn'], error('".cn" is not a valid registry')],
    ['Foo/Bar:1', ['Registry', 'replace', 'r.io'], error('"Foo/Bar" is not a valid repository')],
    ['nginx:', ['Registry', 'replace', 'r.io'], error('a colon but no tag')],
    [
      'nginx',
      ['Color', 'replace', 'r.io'],
      error('unsupported component "Color"; supported components: Registry, Repository, Tag'),
    ],
  ])('%s, %j', (image, rule, expected) => {
    expect(outcome(image, rule)).toEqual(expected);
  });

  it('rejects an empty value for add and replace', () => {
    for (const operator of ['add', 'replace'])
      expect(outcome('nginx:1', ['Tag', operator, ''])).toEqual({
        error: 'value is required for the operators add and replace',
        at: '',
      });
  });

  it('are parsed and formatted without loss', () => {
    const name = fc.record({
      registry: fc.constantFrom('', 'localhost', 'r.io', 'r:5000', 'a-b.c:1'),
      repository: fc.constantFrom('a', 'a/b', 'a-b/c__d/e.f'),
      tag: fc.constantFrom('', 'latest', 'v1.2-rc_3'),
      digest: fc.constantFrom('', DIGEST),
    });
    fc.assert(
      fc.property(name, (parts) => {
        expect(parseImageName(formatImageName(parts))).toEqual(parts);
      }),
    );
  });
});

describe('an image overrider', () => {
  const toMirror: ImageOverrider = { component: 'Registry', operator: 'replace', value: 'm.io' };

  it('changes the images of containers and init containers', () => {
    const result = override(deployment(['a', 'b'], ['c']), toMirror);
    expect(imageAt(result, 'containers', 1)).toBe('m.io/b');
    expect(imageAt(result, 'initContainers', 0)).toBe('m.io/c');
  });

  it('changes only the image at the path of the predicate', () => {
    const path = '/spec/template/spec/containers/1/image';
    const result = override(deployment(['a', 'b']), { ...toMirror, predicate: { path } });
    expect(imageAt(result, 'containers', 0)).toBe('a');
    expect(imageAt(result, 'containers', 1)).toBe('m.io/b');
  });

  it('does not match when there is no image at the path', () => {
    for (const path of [
      '/spec/template/spec/containers/7/image',
      '/spec/template/spec/containers',
      '/metadata/x',
    ])
      expect(override(deployment(['a']), { ...toMirror, predicate: { path } })).toBeUndefined();
  });

  it('rejects a path without a slash', () => {
    expect(override(deployment(['a']), { ...toMirror, predicate: { path: 'spec.image' } })).toBeInstanceOf(
      OverrideError,
    );
  });
});
