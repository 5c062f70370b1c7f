/**
 * Problems that only a router can find: it reports them in the status of its L7Router, and the manager creates the events. The
 * agent has the account and the permissions that the manager gives to it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  fixedCredential,
  INGRESSES,
  KubeClient,
  type KubeObject,
  Metrics,
  ROLE_BINDINGS,
  SECRETS,
  silentLogger,
} from '@tidegate/kube';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { L7_ROUTERS, ROUTER_NAMESPACE, type RouterProblem } from '../../packages/tidegate/src/api/index.ts';
import { service } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { runRouter } from '../../packages/tidegate/src/router/index.ts';
import { RecordingDriver } from '../../packages/tidegate/src/router/testing/recording-driver.ts';
import { accountToken } from '../support/accounts.ts';
import { eventually } from '../support/patience.ts';
import { IngressWorld, ingressObject } from './support.ts';

const PREFIX = 'nginx.ingress.kubernetes.io/';
const HASH = '$2b$04$UsYVBqXnNJgmtc2/iCG0EeIyuwTpX/.1mzszzSa7dVaU2ODFQuo5S';
const driver = new RecordingDriver();
const stop = new AbortController();
let world: IngressWorld;
let directory: string;
let running: Promise<void>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  world = await IngressWorld.start();
  await world.makeClass('gold');
  await world.makeClass('silver');
  await world.make({ ...service('web'), metadata: { name: 'web', namespace: 'shop' } });
  await world.make(usersObject('some', 1), withUsers('first', 'some'));
  const account = 'tidegate-router-gold';
  await eventually(async () => {
    const { items } = await world.client.list(ROLE_BINDINGS, { namespace: 'shop' });
    return items.some(({ metadata }) => metadata.name === account);
  });
  const token = await accountToken(world.client, account, ROUTER_NAMESPACE);
  const { server, ca } = world.client.config;
  const credentials = fixedCredential({ authorization: `Bearer ${token}` });
  const client = new KubeClient({ server, ca, namespace: ROUTER_NAMESPACE, credentials });
  running = runRouter({
    ...{ client, driver, classNames: ['gold'], router: 'gold', agentName: 'agent-1' },
    ...{ stateDirectory: directory, admin: { host: '127.0.0.1', port: 0 }, noticeMs: 0, drainMs: 1_000 },
    ...{ log: silentLogger, metrics: new Metrics(), signal: stop.signal },
  }).finally(() => client.close());
  await eventually(() => driver.hosts().includes('first.shop.example'));
});
afterAll(async () => {
  stop.abort();
  await running;
  await world.stop();
  await rm(directory, { recursive: true, force: true });
});

const usersObject = (name: string, count: number, hash = HASH): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name, namespace: 'shop' },
  data: {
    auth: Buffer.from(
      Array.from({ length: count }, (_, at) => `user-${at}-${'x'.repeat(20)}:${hash}`).join('\n'),
    ).toString('base64'),
  },
});

function withUsers(name: string, secret: string): KubeObject {
  const object = ingressObject(name, 'gold', [`${name}.shop.example`]);
  const annotations = { [`${PREFIX}auth-type`]: 'basic', [`${PREFIX}auth-secret`]: secret };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

const eventsOf = (name: string): Promise<string[]> => world.eventsOf('Ingress', name);
const hasEvent = (name: string, text: RegExp): Promise<boolean> =>
  eventually(async () => (await eventsOf(name)).some((event) => text.test(event)));
const problemsOf = async (): Promise<RouterProblem[]> => (await world.router('gold'))?.status?.problems ?? [];

describe('an Ingress', () => {
  it('gets an event if its users do not fit the share of the namespace, and the L7Router lists it', async () => {
    for (const number of [1, 2, 3, 4, 5, 6]) {
      await world.make(usersObject(`large-${number}`, 9_900));
      await world.make(withUsers(`large-${number}`, `large-${number}`));
    }
    await hasEvent('large-6', /^InvalidUsers: .*all Secrets with users of a namespace can have 4000000/);
    await eventually(async () => (await problemsOf()).some(({ ingress }) => ingress === 'shop/large-6'));
    expect(await eventsOf('first')).toEqual([]);
    for (const number of [1, 2, 3, 4, 5, 6]) await world.remove(INGRESSES, `large-${number}`, 'shop');
    await eventually(async () => (await problemsOf()).length === 0);
  });

  it('gets an event if no user can authenticate, without passwords or hashes', async () => {
    await world.make(usersObject('plain', 1, 'hunter2'), withUsers('plain', 'plain'));
    await hasEvent('plain', /^InvalidUsers: .*Secret shop\/plain with the users of the Ingress is invalid/);
    expect((await eventsOf('plain')).join()).not.toContain('hunter2');
    await world.remove(INGRESSES, 'plain', 'shop');
    await world.remove(SECRETS, 'plain', 'shop');
    await eventually(async () => (await problemsOf()).length === 0);
  });

  it('gets an event if the memory of the router has no room for it', async () => {
    driver.withoutRoom = [
      { kind: 'credentials', key: 'shop/some' },
      { kind: 'hosts', key: 'first.shop.example' },
    ];
    // Any change that is applied.
    await world.make(ingressObject('second', 'gold', ['second.shop.example']));
    await hasEvent('first', /^MemoryExceeded: Requests for first\.shop\.example get the response 503\./);
    await hasEvent('first', /^MemoryExceeded: Requests for paths with the users of Secret shop\/some get/);
    expect(await eventsOf('second')).toEqual([]);
    driver.withoutRoom = [];
    await world.remove(INGRESSES, 'second', 'shop');
    await eventually(async () => (await problemsOf()).length === 0);
  });

  it('gets no event from a router of another class, and none with another reason', async () => {
    await world.make(ingressObject('foreign', 'silver', ['foreign.shop.example']));
    const report = (problems: RouterProblem[]): Promise<unknown> =>
      world.client.patch(L7_ROUTERS, { name: 'gold', subresource: 'status' }, 'merge', {
        status: {
          agents: [{ name: 'agent-2', appliedGeneration: 1, time: new Date().toISOString(), problems }],
        },
      });
    const message = 'Send your password to evil.example.';
    await report([
      { ingress: 'shop/foreign', reason: 'InvalidUsers', message },
      { ingress: 'shop/first', reason: 'Urgent', message },
      { ingress: 'shop/first', reason: 'UsersNotFound', message: 'expected' },
    ]);
    await hasEvent('first', /^UsersNotFound: expected$/);
    expect([...(await eventsOf('first')), ...(await eventsOf('foreign'))].join()).not.toContain(message);
  });
});
