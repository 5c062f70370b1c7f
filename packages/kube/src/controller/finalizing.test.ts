import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeObject } from '../base/object.ts';
import { KubeClient } from '../client/client.ts';
import { Store } from '../informer/store.ts';
import { FakeServer, WIDGETS } from '../testing/fake-server.ts';
import { RestObjects } from '../testing/rest.ts';
import { type FinalizingOptions, finalizing } from './finalizing.ts';

const FINALIZER = 'example.com/f';
const PATH = '/apis/example.com/v1/namespaces/n/widgets/w';
const { signal } = new AbortController();
const widget = (metadata: object): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'w', namespace: 'n', resourceVersion: '1', ...metadata },
});

describe('finalizing', () => {
  let server: FakeServer;
  let stored: RestObjects;
  let client: KubeClient;
  let calls: string[];
  beforeEach(async () => {
    calls = [];
    server = new FakeServer();
    stored = new RestObjects();
    server.intercept = stored.answer;
    client = new KubeClient(await server.start());
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  const finalizers = (): readonly string[] => stored.byPath.get(PATH)?.metadata.finalizers ?? [];

  /** Reconciles `n/w` with this object in the cache and on the server. Calls are recorded with the finalizers at that time. */
  function reconcile(object: KubeObject | undefined, more: Partial<FinalizingOptions<KubeObject>> = {}) {
    const cache = new Store<KubeObject>(() => {});
    if (object !== undefined) {
      cache.set(object);
      stored.byPath.set(PATH, object);
    }
    const reconciler = finalizing({
      client,
      informer: { cache, resource: WIDGETS },
      finalizer: FINALIZER,
      ensure: async () => void calls.push(`ensure ${finalizers()}`),
      remove: async (key) => void calls.push(`remove ${key} ${finalizers()}`),
      ...more,
    });
    return reconciler('n/w', signal);
  }

  it('adds the finalizer before anything is created', async () => {
    await reconcile(widget({}));
    expect(calls).toEqual([`ensure ${FINALIZER}`]);
  });

  it('returns what `ensure` returns, and does not add the finalizer twice', async () => {
    const ensure = async () => ({ requeueAfter: 5 });
    expect(await reconcile(widget({ finalizers: [FINALIZER] }), { ensure })).toEqual({ requeueAfter: 5 });
    expect(finalizers()).toEqual([FINALIZER]);
  });

  it('removes the finalizer after everything is removed, and keeps those of others', async () => {
    const deletionTimestamp = '2026-01-01T00:00:00Z';
    await reconcile(widget({ deletionTimestamp, finalizers: ['other', FINALIZER] }));
    expect(calls).toEqual([`remove n/w other,${FINALIZER}`]);
    expect(finalizers()).toEqual(['other']);
  });

  it('keeps the finalizer if the removal fails', async () => {
    const object = widget({ deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: [FINALIZER] });
    const remove = () => Promise.reject(new Error('the cloud is down'));
    await expect(reconcile(object, { remove })).rejects.toThrow('the cloud is down');
    expect(finalizers()).toEqual([FINALIZER]);
  });

  it('removes what an object that is gone has left, and leaves objects of others alone', async () => {
    await reconcile(undefined);
    expect(calls).toEqual(['remove n/w ']);
    await reconcile(widget({}), { concerns: () => false });
    expect(calls).toEqual(['remove n/w ']);
  });
});
