import {
  Controller,
  INGRESSES,
  type Ingress,
  isAlreadyExists,
  isConflict,
  isInvalid,
  isNotFound,
  type ReconcileResult,
} from '@tidegate/kube';
import { HOST_CLAIMS, type HostClaim, type HostClaimSpec, INGRESS_CLASS_POLICIES } from '../../api/index.ts';
import type { ClassTable } from '../classes/index.ts';
import type { IngressContext } from '../context.ts';
import {
  ClaimIndex,
  newHostClaim,
  type Ownership,
  ownershipOf,
  policyRefusal,
  refusalOf,
  reservationMsOf,
} from '../ownership/index.ts';
import { demandKey, HostDemand, splitDemandKey } from './host-demand.ts';
import { newOwners, planClaims } from './plan.ts';

export interface HostClaims {
  readonly controller: Controller;
  /**
   * Fills the queue. Resolves when the claims of all hosts are recorded. It waits as long as they cannot be written, because
   * with missing claims routers would seem to be unused, and placement would delete them.
   */
  follow(): Promise<void>;
}

/** Writes of claims in parallel. Decisions are made one after the other, in the order of the queue. */
const CONCURRENCY = 8;

/**
 * How many hosts are reserved for a namespace. More are free at once: a tenant that names ever new hosts must not fill the
 * API server with their claims.
 */
const MOST_RESERVED = 1_000;

/** Timers of Node.js cannot wait for longer than 24 days. */
const LONGEST_WAIT_MS = 24 * 3_600_000;

/**
 * Records which namespace has which host, as HostClaims. The key is a host of a class, `gold/shop.example.com`, so a change
 * of an Ingress costs as much as the hosts that it names.
 *
 * Decisions are made with `claims`, which contains the recorded claims and the writes of this process that are on their
 * way. A decision is entered there before the first await, so two reconciles never give related hosts to two namespaces.
 */
export function hostClaims(context: IngressContext, classes: ClassTable): HostClaims {
  const { client, informers, clock, log } = context;
  const ingresses = informers.for(INGRESSES);
  const recorded = informers.for(HOST_CLAIMS);
  const policies = informers.for(INGRESS_CLASS_POLICIES);
  const demand = new HostDemand();
  const claims = new ClaimIndex();
  /** UIDs of claims that were deleted while writes are on their way. The response to a write can arrive after that event. */
  const deleted = new Set<string>();
  let writes = 0;
  /** Keys that were queued at the start and are not recorded yet. */
  const first = new Set<string>();
  let settled = (): void => {};

  async function reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    try {
      const nextEnd = await write(key, signal);
      looked(key);
      if (nextEnd === undefined) return {};
      return { requeueAfter: Math.min(Math.max(nextEnd - clock.now(), 1), LONGEST_WAIT_MS) };
    } catch (error) {
      // The API server will never accept this claim, and nothing may wait for it.
      if (isInvalid(error)) looked(key);
      throw error;
    }
  }

  const looked = (key: string): void => {
    if (first.delete(key) && first.size === 0) settled();
  };

  /** Returns when the next reservation ends. */
  async function write(key: string, signal: AbortSignal): Promise<number | undefined> {
    const { className, host } = splitDemandKey(key);
    const family = classes.familyOf(className);
    const classNames = family?.classNames ?? [className];
    const policy = policies.cache.get(className)?.spec;
    const wish = (namespace: string) => ({ className, classNames, host, namespace });
    const namespaces = demand.namespacesOf(key);
    const isAllowed = (namespace: string): boolean => policyRefusal(wish(namespace), policy) === undefined;
    const held = claims.claimsTo(host, [className]);
    const { ended, changed, nextEnd } = planClaims(host, held, {
      isNamed: (namespace) => namespaces.includes(namespace),
      isAllowed,
      canReserve: (namespace) => claims.reservedFor(namespace) < MOST_RESERVED,
      now: clock.now(),
      reservationMs: reservationMsOf(policy),
    });
    for (const { name } of ended) claims.remove(name);
    for (const claim of changed) claims.put(claim);
    const kept = claims.claimsTo(host, [className]);
    const isFree = (namespace: string): boolean =>
      family !== undefined && refusalOf(wish(namespace), claims, policy) === undefined;
    const added = newOwners(host, namespaces, kept, isFree).map((namespace) =>
      newHostClaim({
        ingressClassName: className,
        host,
        namespace,
        since: new Date(clock.now()).toISOString(),
      }),
    );
    for (const object of added) claims.put(ownershipOf(object));
    const [next] = added;
    const moved = ended.find(({ name }) => name === next?.metadata.name);
    try {
      for (const claim of ended) if (claim !== moved) await remove(claim, signal);
      if (moved !== undefined && next !== undefined) await move(moved, next, signal);
      else for (const object of added) await add(object, signal);
      for (const claim of changed) await change(claim, signal);
      return nextEnd;
    } catch (error) {
      // Back to what is recorded. The retry decides again.
      for (const { metadata } of added) restore(`${metadata.name}`);
      for (const { name } of [...ended, ...changed]) restore(name);
      throw error;
    }
  }

  /** Enters the result of a write. */
  async function written(write: () => Promise<HostClaim>): Promise<void> {
    writes++;
    try {
      const object = await write();
      if (deleted.has(`${object.metadata.uid}`)) claims.remove(`${object.metadata.name}`);
      else claims.put(ownershipOf(object));
    } finally {
      if (--writes === 0) deleted.clear();
    }
  }

  async function add(object: HostClaim, signal: AbortSignal): Promise<void> {
    const { host, ingressClassName: className, namespace } = object.spec;
    try {
      await written(() => client.create(HOST_CLAIMS, object, { signal }));
      log.info({ host, class: className, namespace }, 'recorded the claim of a namespace to a host');
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // Another manager recorded a claim. What it wrote counts, and arrives through the informer.
      const existing = await client.get(HOST_CLAIMS, { name: `${object.metadata.name}` }, { signal });
      claims.put(ownershipOf(existing));
    }
  }

  async function remove({ name, uid, host, className, namespace }: Ownership, signal: AbortSignal) {
    try {
      await client.delete(HOST_CLAIMS, { name }, { preconditions: { uid }, signal });
      log.info({ host, class: className, namespace }, 'ended the claim of a namespace to a host');
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  /** Begins or ends a reservation. */
  async function change(claim: Ownership, signal: AbortSignal): Promise<void> {
    const { host, className, namespace, since, reservedUntil } = claim;
    await update(claim, { ingressClassName: className, host, namespace, since, reservedUntil }, signal);
    if (reservedUntil === undefined)
      log.info({ host, class: className, namespace }, 'a namespace uses its reserved host again');
    else log.info({ host, class: className, namespace, reservedUntil }, 'reserved a host that is not used');
  }

  /** Changes the owner in one step. Without a claim in between, the host keeps its place on a router. */
  async function move(before: Ownership, { spec }: HostClaim, signal: AbortSignal): Promise<void> {
    await update(before, spec, signal);
    const { host, ingressClassName, namespace } = spec;
    log.info({ host, class: ingressClassName, namespace }, 'gave a host to the next namespace');
  }

  /** If the claim is no longer what was seen, what is recorded counts, and the host is looked at again. */
  async function update(before: Ownership, spec: HostClaimSpec, signal: AbortSignal): Promise<void> {
    const { name, uid, resourceVersion } = before;
    const object = { ...newHostClaim(spec), metadata: { name, uid, resourceVersion } };
    try {
      await written(() => client.update(HOST_CLAIMS, object, { signal }));
    } catch (error) {
      if (!isNotFound(error) && !isConflict(error)) throw error;
      const existing = await client.get(HOST_CLAIMS, { name }, { signal }).catch(undefinedIfGone);
      if (existing === undefined) claims.remove(name);
      else claims.put(ownershipOf(existing));
      controller.enqueue(demandKey(spec.ingressClassName, spec.host));
    }
  }

  const restore = (name: string): void => {
    const object = recorded.cache.get(name);
    if (object === undefined) claims.remove(name);
    else claims.put(ownershipOf(object));
  };

  const controller = new Controller({
    ...context,
    name: 'host-claims',
    reconcile,
    concurrency: CONCURRENCY,
  });
  const enqueue = (keys: Iterable<string>): void => {
    for (const key of keys) controller.enqueue(key);
  };

  /** A claim concerns its host in all classes that share the address, and the hosts below a wildcard. */
  const concernedBy = ({ className, host }: Pick<Ownership, 'className' | 'host'>): Set<string> => {
    const classNames = classes.familyOf(className)?.classNames ?? [className];
    return new Set([...classNames.map((name) => demandKey(name, host)), ...demand.keysBelow(host)]);
  };

  const keysOf = (className: string): Set<string> => {
    const held = [...claims.values()].filter((claim) => claim.className === className);
    return new Set([...demand.keysOfClass(className), ...held.map(({ host }) => demandKey(className, host))]);
  };

  async function follow(): Promise<void> {
    await Promise.all([ingresses.synced, recorded.synced, policies.synced]);
    for (const object of recorded.cache.list()) claims.put(ownershipOf(object));
    // The oldest Ingress first: nothing else is known about hosts that were never claimed.
    for (const ingress of ingresses.cache.list().sort(byAge))
      for (const key of demand.put(ingress)) first.add(key);
    for (const { className, host, namespace } of claims.values()) {
      first.add(demandKey(className, host));
      demand.prefer(demandKey(className, host), namespace);
    }
    const done = new Promise<void>((resolve) => {
      settled = resolve;
    });
    if (first.size === 0) settled();
    enqueue(first);
    listen();
    await done;
  }

  function listen(): void {
    ingresses.addHandler({
      onAdd: (ingress) => enqueue(demand.put(ingress)),
      onUpdate: (_, ingress) => enqueue(demand.put(ingress)),
      onDelete: (ingress) => enqueue(demand.remove(ingress as Ingress)),
    });
    const changed = (object: HostClaim): void => {
      const claim = ownershipOf(object);
      const known = claims.get(claim.name);
      claims.put(claim);
      demand.prefer(demandKey(claim.className, claim.host), claim.namespace);
      if (known?.namespace !== claim.namespace || known.host !== claim.host) enqueue(concernedBy(claim));
      else if (known.reservedUntil !== claim.reservedUntil)
        controller.enqueue(demandKey(claim.className, claim.host));
    };
    recorded.addHandler({
      onAdd: changed,
      onUpdate: (_, object) => changed(object),
      onDelete: (object) => {
        const claim = ownershipOf(object as HostClaim);
        claims.remove(claim.name, claim.uid);
        if (writes > 0) deleted.add(`${claim.uid}`);
        enqueue(concernedBy(claim));
      },
    });
    const policyChanged = ({ metadata }: { metadata: { name?: string } }): void =>
      enqueue(keysOf(`${metadata.name}`));
    policies.addHandler({
      onAdd: policyChanged,
      onUpdate: (_, policy) => policyChanged(policy),
      onDelete: policyChanged,
    });
    classes.onChange((key) => {
      for (const name of classes.families.get(key)?.classNames ?? []) enqueue(keysOf(name));
    });
  }

  return { controller, follow };
}

const byAge = (a: Ingress, b: Ingress): number =>
  Date.parse(a.metadata.creationTimestamp ?? '') - Date.parse(b.metadata.creationTimestamp ?? '');

const undefinedIfGone = (error: unknown): undefined => {
  if (!isNotFound(error)) throw error;
};
