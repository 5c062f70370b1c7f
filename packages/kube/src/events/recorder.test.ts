import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../base/log.ts';
import type { KubeObject } from '../base/object.ts';
import { KubeClient } from '../client/client.ts';
import { FakeServer } from '../testing/fake-server.ts';
import { answerJson, RestObjects } from '../testing/rest.ts';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { EventRecorder } from './recorder.ts';

const pod: KubeObject = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'ns', uid: 'u1', resourceVersion: '7' },
};

describe('event recorder', () => {
  let server: FakeServer;
  let store: RestObjects;
  let client: KubeClient;
  let clock: VirtualClock;
  let recorder: EventRecorder;

  beforeEach(async () => {
    server = new FakeServer();
    store = new RestObjects();
    server.intercept = store.answer;
    client = new KubeClient(await server.start());
    clock = new VirtualClock();
    recorder = new EventRecorder(client, { component: 'test', instance: 'test-0', clock });
  });
  afterEach(async () => {
    await recorder.close();
    await client.close();
    await server.stop();
  });

  const events = (): KubeObject[] => [...store.byPath.values()];

  it('writes an event that kubectl can show', async () => {
    recorder.warning(pod, 'Failed', 'it broke');
    await recorder.flush();
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { namespace: 'ns' },
      involvedObject: {
        apiVersion: 'v1',
        kind: 'Pod',
        name: 'p',
        namespace: 'ns',
        uid: 'u1',
        resourceVersion: '7',
      },
      type: 'Warning',
      reason: 'Failed',
      message: 'it broke',
      count: 1,
      source: { component: 'test' },
      reportingComponent: 'test',
      reportingInstance: 'test-0',
      firstTimestamp: '2026-01-01T00:00:00Z',
    });
    expect(events()[0]!.metadata.name).toMatch(/^p\.[0-9a-f]+$/);
  });

  it('increases the count of a repeated event instead of creating a new one', async () => {
    for (let i = 0; i < 3; i++) recorder.normal(pod, 'Pulled', 'image pulled');
    await recorder.flush();
    await clock.advance(60_000);
    recorder.normal(pod, 'Pulled', 'image pulled');
    await recorder.flush();
    expect(events()).toHaveLength(1);
    expect(events()[0]).toMatchObject({
      count: 4,
      firstTimestamp: '2026-01-01T00:00:00Z',
      lastTimestamp: '2026-01-01T00:01:00Z',
    });
  });

  it('creates a new event when the old one has expired', async () => {
    recorder.normal(pod, 'Pulled', 'x');
    await recorder.flush();
    store.byPath.clear();
    recorder.normal(pod, 'Pulled', 'x');
    await recorder.flush();
    expect(events().map((e) => e.count)).toEqual([1]);
  });

  it('combines events that differ only in their message', async () => {
    for (let i = 0; i < 15; i++) recorder.warning(pod, 'Failed', `attempt ${i}`);
    await recorder.flush();
    expect(events()).toHaveLength(11);
    expect(events().at(-1)).toMatchObject({
      message: '(combined from similar events): attempt 14',
      count: 5,
    });
  });

  it('limits the events of one object without affecting others', async () => {
    const other = { ...pod, metadata: { ...pod.metadata, name: 'q', uid: 'u2' } };
    for (let i = 0; i < 40; i++) recorder.warning(pod, `Reason${i}`, 'x');
    recorder.warning(other, 'Failed', 'x');
    await recorder.flush();
    expect(events()).toHaveLength(26);
    await clock.advance(300_000);
    recorder.warning(pod, 'Later', 'x');
    await recorder.flush();
    expect(events()).toHaveLength(27);
  });

  it('never throws, whatever the server answers', async () => {
    server.failNext({ code: 403 });
    recorder.normal(pod, 'A', 'x');
    recorder.normal({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } }, 'B', 'x');
    await recorder.flush();
    expect(events().map((e) => [e.reason, e.metadata.namespace])).toEqual([['B', 'default']]);
    await recorder.close();
    recorder.normal(pod, 'C', 'x');
    await recorder.flush();
    expect(events()).toHaveLength(1);
  });

  it('logs rejected events, except those of a namespace that is being deleted', async () => {
    const complaints: string[] = [];
    const log = { ...silentLogger, warn: (_: object, message: string) => complaints.push(message) };
    const own = new EventRecorder(client, { component: 'test', clock, log });
    const refuse = (causes: object[]): FakeServer['intercept'] => {
      const status = {
        kind: 'Status',
        status: 'Failure',
        reason: 'Forbidden',
        code: 403,
        details: { causes },
      };
      return (_request, response) => answerJson(response, status, 403);
    };
    server.intercept = refuse([{ reason: 'NamespaceTerminating' }]);
    own.normal(pod, 'Killing', 'Stopping container c');
    await own.flush();
    expect(complaints).toEqual([]);
    server.intercept = refuse([]);
    own.normal(pod, 'Killing', 'Stopping container d');
    await own.flush();
    expect(complaints).toEqual(['the event could not be written']);
    await own.close();
  });
});
