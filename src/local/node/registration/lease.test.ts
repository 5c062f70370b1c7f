import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isNotFound, KubeClient, type Node } from '../../../kube/index.ts';
import { FakeServer } from '../../../kube/testing/fake-server.ts';
import { answerJson, RestObjects } from '../../../kube/testing/rest.ts';
import { VirtualClock } from '../../../kube/testing/virtual-clock.ts';
import { NodeLease } from './lease.ts';

const PATH = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n';
const { signal } = new AbortController();
const node = (uid: string): Node => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', uid } });

describe('the lease of a node', () => {
  let server: FakeServer;
  let objects: RestObjects;
  let client: KubeClient;
  beforeEach(async () => {
    server = new FakeServer();
    objects = new RestObjects();
    server.intercept = objects.answer;
    client = new KubeClient(await server.start());
  });
  afterEach(async () => {
    await client.close();
    await server.stop();
  });

  it('belongs to the Node as it is now, and so outlives one that was deleted', async () => {
    let current = node('first');
    const lease = new NodeLease(client, () => current, new VirtualClock());
    await lease.renew(signal);
    expect(objects.byPath.get(PATH)?.metadata.ownerReferences).toMatchObject([{ uid: 'first' }]);
    current = node('second');
    objects.byPath.delete(PATH);
    await lease.renew(signal);
    expect(objects.byPath.get(PATH)?.metadata.ownerReferences).toMatchObject([{ uid: 'second' }]);
  });

  it('is taken over from an earlier agent', async () => {
    await new NodeLease(client, () => node('u'), new VirtualClock()).renew(signal);
    const later = new VirtualClock(Date.UTC(2027, 0, 1));
    await new NodeLease(client, () => node('u'), later).renew(signal);
    expect(objects.byPath.get(PATH)).toMatchObject({ spec: { renewTime: '2027-01-01T00:00:00.000000Z' } });
  });

  it('is not asked for without end where its namespace is missing', async () => {
    let requests = 0;
    server.intercept = (_request, response) => {
      requests++;
      return answerJson(response, { kind: 'Status', status: 'Failure', reason: 'NotFound', code: 404 }, 404);
    };
    const lease = new NodeLease(client, () => node('u'), new VirtualClock());
    await expect(lease.renew(signal)).rejects.toSatisfy(isNotFound);
    expect(requests).toBe(2);
  });
});
