/**
 * Tests how a router learns of changed Secrets: the ingress controllers of the manager and the agent of a router run with an
 * embedded API server. The agent has the account and the permissions that the manager gives to it.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  fixedCredential,
  INGRESSES,
  type Ingress,
  KubeClient,
  type KubeObject,
  keyOf,
  type ListOptions,
  Metrics,
  type Resource,
  ROLE_BINDINGS,
  SECRETS,
  silentLogger,
  type WatchOptions,
} from '@tidegate/kube';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HOST_CLAIMS, L7_ROUTERS, ROUTER_NAMESPACE } from '../../packages/tidegate/src/api/index.ts';
import { groupOf, secretVersions } from '../../packages/tidegate/src/ingress/secret-versions.ts';
import { TestAuthority } from '../../packages/tidegate/src/ingress/testing/certificates.ts';
import { secret, service } from '../../packages/tidegate/src/ingress/testing/objects.ts';
import { runRouter } from '../../packages/tidegate/src/router/index.ts';
import { RecordingDriver } from '../../packages/tidegate/src/router/testing/recording-driver.ts';
import { accountToken } from '../support/accounts.ts';
import { eventually } from '../support/patience.ts';
import { IngressWorld, ingressObject } from './support.ts';

const authority = new TestAuthority();
/** One certificate for all hosts: keys take a long time to create. */
const wildcard = authority.issue(['*.shop.example']);
const host = (number: number): string => `h${number}.shop.example`;
const name = (number: number): string => `cert-${number}`;

let world: IngressWorld;
let directory: string;
let running: Agent[] = [];

beforeAll(async () => {
  world = await IngressWorld.start();
  await world.makeClass('gold');
  await world.make({ ...service('web'), metadata: { name: 'web', namespace: 'shop' } });
});
afterAll(() => world.stop());
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-test-'));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((agent) => agent.stop()));
  for (const resource of [INGRESSES, SECRETS])
    await world.client.deleteCollection(resource, { namespace: 'shop' });
  await eventually(async () => (await world.routers()).length === 0);
  await world.client.deleteCollection(HOST_CLAIMS);
  await rm(directory, { recursive: true, force: true });
});

/** A client that counts the requests for Secrets. */
class CountingClient extends KubeClient {
  /** Names that were read, in order. */
  reads: string[] = [];
  watches = 0;

  override listPage<T extends KubeObject>(resource: Resource<T>, options: ListOptions = {}) {
    if (resource.resource === 'secrets')
      this.reads.push(`${options.fieldSelector}`.replace('metadata.name=', ''));
    return super.listPage(resource, options);
  }

  override watch<T extends KubeObject>(resource: Resource<T>, options: WatchOptions = {}) {
    if (resource.resource === 'secrets') this.watches++;
    return super.watch(resource, options);
  }
}

/** The agent of the router `gold`. */
class Agent {
  readonly driver = new RecordingDriver();
  readonly client: CountingClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(client: CountingClient) {
    this.client = client;
    this.#running = runRouter({
      client,
      driver: this.driver,
      classNames: ['gold'],
      router: 'gold',
      agentName: 'agent-1',
      stateDirectory: directory,
      admin: { host: '127.0.0.1', port: 0 },
      noticeMs: 0,
      drainMs: 1_000,
      log: silentLogger,
      metrics: new Metrics(),
      signal: this.#stop.signal,
    });
  }

  shown(number: number): string | undefined {
    return this.driver.table.certificates.get(host(number))?.certificate;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.client.close();
  }
}

async function run(): Promise<Agent> {
  const account = 'tidegate-router-gold';
  // The last one that it needs.
  await eventually(async () => {
    const { items } = await world.client.list(ROLE_BINDINGS, { namespace: 'shop' });
    return items.some(({ metadata }) => metadata.name === account);
  });
  const token = await accountToken(world.client, account, ROUTER_NAMESPACE);
  const { server, ca } = world.client.config;
  const credentials = fixedCredential({ authorization: `Bearer ${token}` });
  const agent = new Agent(new CountingClient({ server, ca, namespace: ROUTER_NAMESPACE, credentials }));
  running.push(agent);
  return agent;
}

const put = (number: number, pair = wildcard): Promise<void> =>
  world.make({ ...secret(name(number), pair), metadata: { name: name(number), namespace: 'shop' } });
const use = (number: number): Promise<void> =>
  world.make(ingressObject(`web-${number}`, 'gold', [host(number)], { secretName: name(number) }));

describe('the Secrets of a router', () => {
  it('are read once each at 400 Secrets, without a watch, and a renewal costs few reads', async () => {
    const numbers = Array.from({ length: 400 }, (_, index) => index);
    for (let first = 0; first < 400; first += 50) {
      const some = numbers.slice(first, first + 50);
      await Promise.all(some.map((number) => put(number)));
      await world.make(manyHosts(`web-${first}`, some));
    }
    await eventually(async () => {
      const { items } = await world.client.list(SECRETS, { namespace: 'shop' });
      const versions = items.map(
        ({ metadata }) =>
          [keyOf({ apiVersion: 'v1', kind: 'Secret', metadata }), metadata.resourceVersion] as const,
      );
      const { status } = (await world.router('gold')) ?? {};
      return isDeepStrictEqual(status?.secretVersions, secretVersions(new Map(versions)));
    });
    const agent = await run();
    await eventually(() => numbers.every((number) => agent.shown(number) === wildcard.certificate));
    expect(agent.client.reads.toSorted()).toEqual(numbers.map(name).toSorted());
    agent.client.reads = [];
    const renewed = authority.issue([host(7)]);
    await put(7, renewed);
    await eventually(() => agent.shown(7) === renewed.certificate);
    const group = numbers.filter((number) => groupOf(`shop/${name(number)}`) === groupOf('shop/cert-7'));
    await eventually(() => agent.client.reads.length >= group.length);
    expect(agent.client.reads.toSorted()).toEqual(group.map(name).toSorted());
    expect(agent.client.watches).toBe(0);
  });

  it('are read as soon as they exist, and are not served after they are deleted', async () => {
    await use(1);
    const agent = await run();
    await eventually(() => agent.driver.hosts().includes(host(1)));
    expect(agent.shown(1)).toBeUndefined();
    await put(1);
    await eventually(() => agent.shown(1) === wildcard.certificate);
    await world.remove(SECRETS, name(1), 'shop');
    await eventually(() => agent.shown(1) === undefined);
    // A Secret of another type is read and not used: the manager reads only its metadata, and reports that its type is wrong.
    const reads = agent.client.reads.length;
    await world.make({
      ...secret(name(1), wildcard),
      type: 'Opaque',
      metadata: { name: name(1), namespace: 'shop' },
    } as KubeObject);
    await eventually(() => agent.client.reads.length > reads);
    expect(agent.shown(1)).toBeUndefined();
    await world.remove(SECRETS, name(1), 'shop');
    await put(1);
    await eventually(() => agent.shown(1) === wildcard.certificate);
  });

  it('are not served any more when the router has lost its permission', async () => {
    await put(1);
    await use(1);
    const agent = await run();
    await eventually(() => agent.shown(1) === wildcard.certificate);
    // The manager would create it again.
    await world.stopControllers();
    await world.remove(ROLE_BINDINGS, 'tidegate-router-gold', 'shop');
    // Like a manager that has noticed a change of the Secret.
    await world.client.patch(L7_ROUTERS, { name: 'gold', subresource: 'status' }, 'merge', {
      status: { secretVersions: { [groupOf('shop/cert-1')]: 'another' } },
    });
    await eventually(() => agent.shown(1) === undefined);
    expect(agent.driver.hosts()).toEqual([host(1)]);
    world.startControllers();
    await eventually(() => agent.shown(1) === wildcard.certificate);
  });

  it('are served from the stored table while the API server is unreachable, and read again later', async () => {
    await put(1);
    await use(1);
    const first = await run();
    await eventually(() => first.shown(1) === wildcard.certificate);
    await first.stop();
    running = [];
    const nowhere = new CountingClient({ ...world.client.config, server: 'https://127.0.0.1:1' });
    const second = new Agent(nowhere);
    await eventually(() => second.shown(1) === wildcard.certificate);
    await second.stop();
    const renewed = authority.issue([host(1)]);
    await put(1, renewed);
    const third = await run();
    await eventually(() => third.shown(1) === renewed.certificate);
  });
});

/** An Ingress with many hosts, each with a Secret of its own. */
function manyHosts(ingress: string, numbers: readonly number[]): KubeObject {
  const object = ingressObject(ingress, 'gold', numbers.map(host)) as Ingress;
  const tls = numbers.map((number) => ({ hosts: [host(number)], secretName: name(number) }));
  return { ...object, spec: { ...object.spec, tls } };
}
