import { ApiStatusError, ConnectionError, Informers, type KubeClient, SECRETS } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { isAccessRefused } from './access-refused.ts';

const SELECT = { namespace: 'shop', fieldSelector: 'type=kubernetes.io/tls' };
const unreachable = new ConnectionError('GET /api', new Error('connect ECONNREFUSED'));
const forbidden = new ApiStatusError({
  kind: 'Status',
  metadata: {},
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Forbidden',
  code: 403,
  message: 'secrets is forbidden',
});

it('asks again while the API server is unreachable, until it refuses or not', async () => {
  for (const last of [forbidden, undefined]) {
    const clock = new VirtualClock();
    const answers: unknown[] = [unreachable, unreachable, last];
    const client = {
      list: async () => {
        const error = answers.shift();
        if (error !== undefined) throw error;
      },
    } as unknown as KubeClient;
    const refused = isAccessRefused({ client, informers: new Informers(client), clock }, SECRETS, SELECT);
    for (let i = 0; i < 2; i++) await clock.advance(2_000);
    expect(await refused).toBe(last === forbidden);
    expect(answers).toEqual([]);
  }
});
