import { setTimeout as sleep } from 'node:timers/promises';
import { Informer, KubeClient, type KubeObject, PODS, type Pod } from '@tidegate/kube';
import { FakeServer, VirtualClock } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Expectations } from './expectations.ts';

const OWNER: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', uid: 'owner' },
};

describe('expectations', () => {
  let server: FakeServer;
  let client: KubeClient;
  let pods: Informer<Pod>;
  let clock: VirtualClock;
  let expectations: Expectations;
  let stop: AbortController;
  let running: Promise<void>;

  beforeEach(async () => {
    server = new FakeServer();
    client = new KubeClient(await server.start());
    pods = new Informer(client, PODS);
    clock = new VirtualClock();
    expectations = new Expectations(pods, clock);
    stop = new AbortController();
    running = pods.run(stop.signal);
    await pods.synced;
  });

  afterEach(async () => {
    stop.abort();
    await running;
    await client.close();
    await server.stop();
  });

  const put = (name: string): Pod => server.put(name) as Pod;

  const mark = (pod: Pod): KubeObject => {
    const { resourceVersion } = server.put('clock');
    const metadata = { ...pod.metadata, resourceVersion, deletionTimestamp: '2026-01-01T00:00:00Z' };
    return server.put(pod.metadata.name!, { metadata });
  };

  const until = async (condition: () => boolean): Promise<void> => {
    while (!condition()) await sleep(1);
  };

  const shown = (name: string): boolean => pods.cache.get(`default/${name}`) !== undefined;

  it('waits until the cache shows a created pod', async () => {
    server.freeze();
    await expectations.creating(OWNER, async () => put('web-1'));
    expect(expectations.waitMs(OWNER)).toBeGreaterThan(0);
    server.end();
    await until(() => shown('web-1'));
    expect(expectations.waitMs(OWNER)).toBe(0);
  });

  it('does not wait for an event that arrived before the response, even if the pod is gone again', async () => {
    await expectations.creating(OWNER, async () => {
      const pod = put('web-1');
      await until(() => shown('web-1'));
      server.remove('web-1');
      await until(() => !shown('web-1'));
      return pod;
    });
    expect(expectations.waitMs(OWNER)).toBe(0);
  });

  it('does not wait after a failed request', async () => {
    const pod = put('web-1');
    await until(() => shown('web-1'));
    const refused = async (): Promise<never> => {
      throw new Error('no');
    };
    await expect(expectations.creating(OWNER, refused)).rejects.toThrow('no');
    await expect(expectations.deleting(OWNER, pod, refused)).rejects.toThrow('no');
    expect(expectations.waitMs(OWNER)).toBe(0);
  });

  it('waits until the cache shows that a pod is terminating', async () => {
    const pod = put('web-1');
    await until(() => shown('web-1'));
    await expectations.deleting(OWNER, pod, async () => {});
    expect(expectations.isDeleting(pod)).toBe(true);
    expect(expectations.waitMs(OWNER)).toBeGreaterThan(0);
    mark(pod);
    await until(() => !expectations.isDeleting(pod));
    expect(expectations.waitMs(OWNER)).toBe(0);
    await expectations.deleting(OWNER, pod, async () => {});
    expect(expectations.waitMs(OWNER)).toBe(0);
  });

  it('gives up after five minutes', async () => {
    server.freeze();
    await expectations.creating(OWNER, async () => put('web-1'));
    await clock.advance(60_000);
    expect(expectations.waitMs(OWNER)).toBe(240_000);
    await clock.advance(240_000);
    expect(expectations.waitMs(OWNER)).toBe(0);
  });

  it('keeps owners separate', async () => {
    server.freeze();
    await expectations.creating(OWNER, async () => put('web-1'));
    const other = { ...OWNER, metadata: { name: 'other', uid: 'other' } };
    expect(expectations.waitMs(other)).toBe(0);
  });
});
