import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../base/object.ts';
import { KubeClient } from '../client/client.ts';
import { isConflict } from '../client/errors.ts';
import { FakeServer, WIDGETS } from '../testing/fake-server.ts';
import { RestObjects } from '../testing/rest.ts';
import { Applier } from './apply.ts';
import { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './finalizers.ts';

const PATH = '/apis/example.com/v1/namespaces/ns/widgets/w';

describe('writing helpers', () => {
  let server: FakeServer;
  let store: RestObjects;
  let client: KubeClient;
  const widget: KubeObject = {
    apiVersion: 'example.com/v1',
    kind: 'Widget',
    metadata: { name: 'w', namespace: 'ns', resourceVersion: '1', managedFields: [] },
  };
  beforeEach(async () => {
    server = new FakeServer();
    store = new RestObjects();
    store.byPath.set(PATH, widget);
    server.intercept = store.answer;
    client = new KubeClient(await server.start());
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  it('adds and removes a finalizer without touching other finalizers', async () => {
    const one = await addFinalizer(client, WIDGETS, widget, 'example.com/a');
    const two = await addFinalizer(client, WIDGETS, one, 'example.com/b');
    expect(two.metadata.finalizers).toEqual(['example.com/a', 'example.com/b']);
    expect(await addFinalizer(client, WIDGETS, two, 'example.com/b')).toBe(two);
    const three = await removeFinalizer(client, WIDGETS, two, 'example.com/a');
    expect(hasFinalizer(three, 'example.com/b')).toBe(true);
    expect(hasFinalizer(three, 'example.com/a')).toBe(false);
    expect(isBeingDeleted(three)).toBe(false);
  });

  it('empties a list first if the server makes it null when its last item is removed', async () => {
    const cause = 'Invalid value: "null": status.parts in body must be of type array: "null"';
    const body = JSON.stringify({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      reason: 'Invalid',
      message: `Widget.example.com "w" is invalid: status.parts: ${cause}`,
      details: { causes: [{ reason: 'FieldValueInvalid', message: cause, field: 'status.parts' }] },
      code: 422,
    });
    const applier = new Applier(client, 'me');
    const status = { parts: [], count: 0 };
    store.byPath.set(`${PATH}/status`, widget);
    server.failNext({ code: 422, body });
    await applier.applyStatus({ ...widget, status }, { resource: WIDGETS });
    const sent = server.requests.map(({ headers, body }) => [headers['content-type'], JSON.parse(body)]);
    const applied = expect.objectContaining({ status });
    expect(sent).toEqual([
      ['application/apply-patch+yaml', applied],
      ['application/merge-patch+json', { status: { parts: [] } }],
      ['application/apply-patch+yaml', applied],
    ]);
    for (let i = 0; i < 5; i++) server.failNext({ code: 422, body });
    await expect(applier.apply({ ...widget, status }, { resource: WIDGETS })).rejects.toThrow('status.parts');
  });

  it('does not overwrite finalizers that were added meanwhile', async () => {
    await addFinalizer(client, WIDGETS, widget, 'example.com/a');
    await addFinalizer(client, WIDGETS, widget, 'example.com/b').then(
      () => expect.unreachable(),
      (error) => expect(isConflict(error)).toBe(true),
    );
  });

  it('applies with one field manager, without the fields that the server manages', async () => {
    const applier = new Applier(client, 'tester');
    await applier.apply({ ...widget, spec: { size: 1 } }, { resource: WIDGETS });
    const request = server.requests.at(-1)!;
    expect(request.method).toBe('PATCH');
    expect(request.url.pathname).toBe(PATH);
    expect(request.url.search).toBe('?fieldManager=tester&force=true');
    expect(request.headers['content-type']).toBe('application/apply-patch+yaml');
    expect(JSON.parse(request.body)).toEqual({
      apiVersion: 'example.com/v1',
      kind: 'Widget',
      metadata: { name: 'w', namespace: 'ns' },
      spec: { size: 1 },
    });
    store.byPath.set(`${PATH}/status`, widget);
    await applier.applyStatus(widget, { resource: WIDGETS, force: false });
    expect(server.requests.at(-1)!.url.pathname).toBe(`${PATH}/status`);
    expect(server.requests.at(-1)!.url.searchParams.get('force')).toBe('false');
  });
});
