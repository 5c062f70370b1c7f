/** The contract of provisioners, with the real API of Octavia. */
import { INGRESSES } from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Octavia, type Session } from '../../packages/tidegate/src/dataplane/octavia/openstack/index.ts';
import { IngressWorld } from '../ingress/support.ts';
import { PROVISIONER_CONTRACT } from '../support/provisioner-contract.ts';
import { OctaviaServer } from './support/octavia.ts';
import { openCloud, provisioner, SUBNET, session } from './support/routers.ts';

let server: OctaviaServer;
let calls: Session;
let world: IngressWorld;

beforeAll(async () => {
  server = await OctaviaServer.start();
  calls = session(openCloud(server.url));
  world = await IngressWorld.start({ provisioners: [provisioner(server, calls)] });
  await world.makeClass('gold', { subnetId: SUBNET, drainTime: '1s' }, 'tidegate.io/octavia');
});
afterAll(async () => {
  await world?.stop();
  await calls?.close();
  await server?.stop();
});

describe('the provisioner of Octavia', () => {
  it.each(PROVISIONER_CONTRACT)('$name', ({ run }) => run({ client: world.client, className: 'gold' }));

  it('leaves no load balancer when its last Ingress is deleted', async () => {
    await world.client.deleteCollection(INGRESSES, { namespace: 'shop' });
    await world.routersAre();
    expect(await new Octavia(calls).list('loadbalancers')).toEqual([]);
  });
});
