import {
  type Handler,
  INGRESS_CLASSES,
  INGRESSES,
  type Ingress,
  type KubeObject,
  keyOf,
} from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { L7Router } from '../api/index.ts';
import { Compiler } from '../ingress/compile/index.ts';
import { routerAddressesOf } from '../ingress/listed-addresses.ts';
import { hostClaim, ingress, service, slice } from '../ingress/testing/objects.ts';
import { DepartingIngresses } from './departing-ingresses.ts';
import type { FollowedInformer, InformerSource } from './section-informers.ts';

const MINUTE = 60_000;
const OWN = { ip: '192.0.2.1', ports: [{ port: 80, protocol: 'TCP' }] };
const OTHER = { ip: '192.0.2.2', ports: [{ port: 80, protocol: 'TCP' }] };
const HOST = 'a.example';

/** Informers whose objects the test sets. */
class Objects implements InformerSource {
  readonly #objects = new Map<string, Map<string, KubeObject>>();
  readonly #handlers: Handler<Ingress>[] = [];

  for<T extends KubeObject>({ resource }: { resource: string }): FollowedInformer<T> {
    const objects = this.#objects.get(resource) ?? new Map();
    this.#objects.set(resource, objects);
    return {
      cache: { get: (key: string) => objects.get(key), list: () => [...objects.values()] },
      addHandler: (handler: Handler<Ingress>) => this.#handlers.push(handler),
    } as unknown as FollowedInformer<T>;
  }

  put(resource: string, object: KubeObject): void {
    this.for({ resource });
    const objects = this.#objects.get(resource)!;
    const before = objects.get(keyOf(object));
    objects.set(keyOf(object), object);
    if (resource !== INGRESSES.resource || before === undefined) return;
    for (const handler of this.#handlers) handler.onUpdate?.(before as Ingress, object as Ingress);
  }
}

const router = (departing: string[] = []): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name: 'gold' },
  spec: { ingressClassName: 'gold', driver: 'nginx', departing },
  status: { addresses: [OWN] },
});
const web = (className: string, address: typeof OWN): Ingress => ({
  ...ingress({ className, rules: { [`${HOST}/`]: 'web:80' } }),
  status: { loadBalancer: { ingress: [address] } },
});

let clock: VirtualClock;
let objects: Objects;
let compiler: Compiler;
let departing: DepartingIngresses;
const isServed = (): boolean => {
  compiler.flush();
  return compiler.hasRoutes(HOST);
};

beforeEach(() => {
  clock = new VirtualClock();
  objects = new Objects();
  compiler = new Compiler({ classNames: ['gold'], claimsRequired: true, now: () => clock.now() });
  for (const name of ['gold', 'silver'])
    objects.put(INGRESS_CLASSES.resource, {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IngressClass',
      metadata: { name },
    });
  compiler.put('HostClaim', hostClaim(HOST, 'shop'));
  compiler.put('Service', service('web'));
  compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }));
  departing = new DepartingIngresses({
    informers: objects,
    compiler,
    classNames: () => ['gold'],
    addresses: () => routerAddressesOf(router()),
    touch: () => {},
    clock,
  });
});

/** The informer has the object, and the feed gives it to the compiler. */
function observe(object: Ingress): void {
  objects.put(INGRESSES.resource, object);
  compiler.put('Ingress', object);
}

describe('an Ingress that changes to another class', () => {
  it('is served while its status lists this router, however long the manager does not run', async () => {
    observe(web('gold', OWN));
    observe(web('silver', OWN));
    for (const minutes of [1, 60, 3 * 24 * 60]) {
      await clock.advance(minutes * MINUTE);
      expect(isServed()).toBe(true);
    }
    departing.record(router(['shop/web']));
    expect(isServed()).toBe(true);
    departing.record(router());
    expect(isServed()).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it('is served for half a minute more when its status lists another router', async () => {
    observe(web('gold', OWN));
    observe(web('silver', OTHER));
    expect(isServed()).toBe(true);
    await clock.advance(MINUTE);
    expect(isServed()).toBe(false);
    expect(clock.pending).toBe(0);
  });

  it('while neither the manager nor the router runs, is served after the start of the router', async () => {
    observe(web('silver', OWN));
    expect(isServed()).toBe(false);
    departing.catchUp();
    expect(isServed()).toBe(true);
    await clock.advance(60 * MINUTE);
    expect(isServed()).toBe(true);
    observe(web('silver', OTHER));
    await clock.advance(MINUTE);
    expect(isServed()).toBe(false);
  });

  it('is not served after the start of the router if its status lists another router', () => {
    observe(web('silver', OTHER));
    departing.catchUp();
    expect(isServed()).toBe(false);
    expect(clock.pending).toBe(0);
  });
});
