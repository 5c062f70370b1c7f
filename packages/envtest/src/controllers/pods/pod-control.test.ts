import {
  EventRecorder,
  Informer,
  isForbidden,
  KubeClient,
  type KubeObject,
  PODS,
  systemClock,
} from '@tidegate/kube';
import { FakeServer, type ReceivedRequest } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PodControl } from './pod-control.ts';
import { podFromTemplate } from './template.ts';

const OWNER: KubeObject = {
  apiVersion: 'apps/v1',
  kind: 'ReplicaSet',
  metadata: { name: 'web', namespace: 'default', uid: 'owner' },
};

describe('creating many pods', () => {
  let server: FakeServer;
  let client: KubeClient;
  let recorder: EventRecorder;
  let podControl: PodControl;
  let causes: { reason: string }[];
  let quota: number;

  beforeEach(async () => {
    server = new FakeServer();
    client = new KubeClient(await server.start());
    recorder = new EventRecorder(client, { component: 'test' });
    const pods = new Informer(client, PODS);
    podControl = new PodControl({ client, pods, recorder, clock: systemClock });
    causes = [];
    server.intercept = ({ method, url, body }, response) => {
      if (method !== 'POST') return false;
      const allowed = !url.pathname.endsWith('/pods') || quota-- > 0;
      const refusal = {
        kind: 'Status',
        code: 403,
        reason: 'Forbidden',
        message: 'full',
        details: { causes },
      };
      response.writeHead(allowed ? 201 : 403).end(allowed ? body : JSON.stringify(refusal));
      return true;
    };
  });

  afterEach(async () => {
    await recorder.close();
    await client.close();
    await server.stop();
  });

  const make = (count: number): Promise<unknown[]> =>
    podControl.createPods(OWNER, count, () => podFromTemplate(OWNER, {}), new AbortController().signal);

  const sent = (path: string): ReceivedRequest[] =>
    server.requests.filter(({ method, url }) => method === 'POST' && url.pathname.endsWith(path));

  const events = async (): Promise<string[]> => {
    await recorder.flush();
    return sent('/events').map(({ body }) => {
      const { reason, message }: { reason: string; message: string } = JSON.parse(body);
      return `${reason} ${message}`;
    });
  };

  it('creates all pods when nothing fails', async () => {
    quota = 10;
    expect(await make(10)).toHaveLength(10);
    expect(sent('/pods')).toHaveLength(10);
  });

  it('stops after the batch with a rejection: 1, then 2, then 4', async () => {
    quota = 3;
    const refusal = await make(20).catch((error: unknown) => error);
    expect(isForbidden(refusal)).toBe(true);
    expect(sent('/pods')).toHaveLength(7);
    expect(await events()).toContain('FailedCreate Error creating: full');
  });

  it('records no event when the namespace is terminating', async () => {
    quota = 0;
    causes = [{ reason: 'NamespaceTerminating' }];
    expect(await make(5)).toEqual([]);
    expect(sent('/pods')).toHaveLength(1);
    expect(await events()).toEqual([]);
  });
});
