import { INGRESSES, NODES, PODS, SERVICES } from '@tidegate/kube';
import { ApiError, negotiateAmong } from '@tidegate/serving';
import { describe, expect, it, test } from 'vitest';
import { selectable, selectsByKey, selectsKey, selectsObject } from '../projections/selection.ts';
import { componentOf } from './call.ts';
import { readOptions } from './read-options.ts';

const read = (query: string, namespace = '') => readOptions(new URLSearchParams(query), namespace);

function refusalOf(query: string): { code: number; message: string | undefined } {
  try {
    read(query);
  } catch (error) {
    if (error instanceof ApiError) return { code: error.status.code, message: error.status.message };
  }
  return expect.fail(`${query} is not refused`);
}

test.each([
  ['kube-proxy/v1.36.4 (linux/amd64) kubernetes/abc', 'kube-proxy'],
  ['Nginx-Ingress-Controller/v1', 'nginx-ingress-controller'],
  ['coredns', 'coredns'],
  ['', ''],
  [undefined, ''],
])('the component of %j is %j', (userAgent, component) => {
  expect(componentOf(userAgent)).toBe(component);
});

test.each([
  ['watch=False', false],
  ['watch=FALSE', false],
  ['watch=0', false],
  ['watch=', true],
  ['watch=no', true],
])('as in API servers, %s means: %s', (query, watch) => {
  expect(read(query).watch).toBe(watch);
});

describe('selectors', () => {
  const fields = (query: string) => read(`fieldSelector=${encodeURIComponent(query)}`).selection.fields;

  it('are divided into those that the hub can evaluate and others', () => {
    expect(selectable(PODS, fields(''))).toBe(true);
    expect(selectable(PODS, fields('metadata.name=a,metadata.namespace!=b'))).toBe(true);
    expect(selectable(PODS, fields('spec.nodeName=n'))).toBe(false);
    expect(selectable(NODES, fields('metadata.namespace=b'))).toBe(false);
    expect(selectable(SERVICES, fields('spec.clusterIP!=None,spec.type=NodePort'))).toBe(true);
    expect(selectable(INGRESSES, fields('spec.type=NodePort'))).toBe(false);
  });

  it('select by the content of the object', () => {
    const { selection } = read('labelSelector=tier%20in%20(web)&fieldSelector=spec.clusterIP!%3DNone', 'a');
    const service = (tier: string, clusterIP?: string) => ({
      apiVersion: 'v1',
      kind: 'Service',
      metadata: { labels: { tier } },
      spec: { clusterIP },
    });
    expect(selectsByKey(selection)).toBe(false);
    expect([selectsKey(selection, 'a/x'), selectsKey(selection, 'b/x')]).toEqual([true, false]);
    expect(selectsObject(selection, service('web', '10.0.0.1'))).toBe(true);
    expect(selectsObject(selection, service('web'))).toBe(true);
    expect(selectsObject(selection, service('web', 'None'))).toBe(false);
    expect(selectsObject(selection, service('api', '10.0.0.1'))).toBe(false);
  });

  it('select by the key alone', () => {
    const { selection } = read('fieldSelector=metadata.name!%3Dx,metadata.namespace%3Da');
    expect(selectsByKey(selection)).toBe(true);
    const keys = ['a/x', 'a/y', 'b/y', 'y'].filter((key) => selectsKey(selection, key));
    expect(keys).toEqual(['a/y']);
  });
});

describe('options', () => {
  it('of a list are parsed', () => {
    expect(read('resourceVersion=5&limit=500&continue=').options).toEqual({
      resourceVersion: '5',
      exact: true,
      limit: 500,
      continue: '',
    });
    expect(read('resourceVersion=5&resourceVersionMatch=NotOlderThan').options).toMatchObject({
      exact: false,
    });
  });

  it('of a watch are parsed', () => {
    const query = 'watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&timeoutSeconds=300';
    expect(read(`${query}&allowWatchBookmarks=true`)).toMatchObject({
      watch: true,
      options: {
        resourceVersion: '',
        initialEvents: true,
        initialEventsEnd: true,
        allowWatchBookmarks: true,
        timeoutSeconds: 300,
      },
    });
    expect(read('watch=1&resourceVersion=7').options).toMatchObject({ initialEvents: false });
    expect(read('watch=1&resourceVersion=0').options).toMatchObject({
      initialEvents: true,
      initialEventsEnd: false,
    });
  });

  it.each([
    ['labelSelector=a%20in', 400, /^unable to parse requirement: /],
    ['fieldSelector=a', 400, "invalid selector: 'a'; can't understand 'a'"],
    ['limit=x', 400, 'strconv.ParseInt: parsing "x": invalid syntax'],
    [
      'resourceVersionMatch=Exact',
      422,
      /resourceVersionMatch is forbidden unless resourceVersion is provided/,
    ],
    ['sendInitialEvents=true', 422, /sendInitialEvents is forbidden for list/],
    ['continue=a&resourceVersion=3', 400, 'specifying resource version is not allowed when using continue'],
    [
      'resourceVersion=x',
      400,
      'invalid resource version: resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    ],
    [
      'watch=1&resourceVersion=x',
      500,
      'resourceVersion: Invalid value: "x": strconv.ParseUint: parsing "x": invalid syntax',
    ],
    ['watch=1&sendInitialEvents=true', 422, /sendInitialEvents requires setting resourceVersionMatch/],
  ])('%s is rejected with the message of an API server', (query, code, message) => {
    expect(refusalOf(query)).toEqual({
      code,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
    });
  });
});

test('protobuf is negotiated only if the server supports it', () => {
  const accept = 'application/vnd.kubernetes.protobuf, */*';
  expect(negotiateAmong(accept, ['json', 'protobuf'])).toEqual({ format: 'protobuf' });
  expect(negotiateAmong(accept, ['json'])).toEqual({ format: 'json' });
  expect(() => negotiateAmong('application/vnd.kubernetes.protobuf', ['json', 'yaml'])).toThrow(
    'only the following media types are accepted: application/json, application/yaml',
  );
});
