import type { ResourceRequest } from '@tidegate/serving';
import type { Memory } from '../identity/index.ts';
import { FairMap, type Holder, type ShareLimits } from '../shares/index.ts';

/** The request that is to be authorized, as in `spec.resourceAttributes` of a SelfSubjectAccessReview. */
export type ResourceAttributes = Pick<
  ResourceRequest,
  'verb' | 'group' | 'version' | 'resource' | 'namespace' | 'name'
>;

/** The answer of the API server to one access review. */
export interface Decision {
  readonly allowed: boolean;
  /** The user that the API server denied, and the reason that it gave. Only set if `allowed` is false. */
  readonly username?: string;
  readonly reason?: string;
  /** Monotonic time of the review, in milliseconds. Absent for a decision that was loaded from disk. */
  readonly askedAt?: number;
}

const PREFIX = 'access/';
const READS: ResourceAttributes['verb'][] = ['list', 'watch', 'get'];
const ALLOWED: ShareLimits = { perIdentity: 1_000, total: 10_000 };
/** A client can be denied any number of things, and few denials matter offline: without one, it gets 503 instead of 403. */
const DENIED: ShareLimits = { perIdentity: 100, total: 1_000 };
/** The longest name that an object of a shared resource can have. Decisions about longer names are not kept. */
const MOST_NAME = 253;
const MOST_REASON = 1_000;

/**
 * The decisions of the API server by identity and question, in memory and on disk. If there are too many, a decision of the
 * same identity or of the largest tenant is deleted, see FairMap. Denials have a map of their own, so that none of them
 * replaces a permission.
 */
export class Decisions {
  readonly #memory: Memory;
  readonly #holderOf: (identityKey: string) => Holder;
  readonly #allowed: FairMap<Decision>;
  readonly #denied: FairMap<Decision>;

  private constructor(memory: Memory, holderOf: (identityKey: string) => Holder) {
    this.#memory = memory;
    this.#holderOf = holderOf;
    const onEvicted = (key: string): void => memory.delete(key);
    this.#allowed = new FairMap(ALLOWED, onEvicted);
    this.#denied = new FairMap(DENIED, onEvicted);
  }

  /** `holderOf` attributes an identity, by its key, to a tenant. */
  static async open(memory: Memory, holderOf: (identityKey: string) => Holder): Promise<Decisions> {
    const decisions = new Decisions(memory, holderOf);
    for (const key of memory.keys(PREFIX)) {
      const stored = await memory.get(key);
      if (stored === undefined) continue;
      const [identityKey = ''] = key.slice(PREFIX.length).split('/');
      const decision = JSON.parse(stored.toString()) as Decision;
      decisions.#mapFor(decision).set(key, decision, holderOf(identityKey));
    }
    return decisions;
  }

  /** The decision for exactly this question. */
  get(identityKey: string, attributes: ResourceAttributes): Decision | undefined {
    const key = decisionKey(identityKey, attributes);
    return this.#allowed.get(key) ?? this.#denied.get(key);
  }

  /**
   * A stored decision that allows at least as much: a client that may list or watch a resource in a namespace
   * can read every object in it, and a client that may do so at the cluster scope can read all namespaces. A
   * `get` only includes a `get` of the same object. Use this only when no API server is reachable: the API
   * server evaluates each verb separately.
   */
  wider(identityKey: string, attributes: ResourceAttributes): Decision | undefined {
    if (!READS.includes(attributes.verb)) return undefined;
    for (const verb of READS) {
      for (const namespace of new Set([attributes.namespace, ''])) {
        for (const name of new Set([attributes.name, ''])) {
          const isLess = verb === 'get' && (attributes.verb !== 'get' || name === '');
          const decision = isLess
            ? undefined
            : this.get(identityKey, { ...attributes, verb, namespace, name });
          if (decision?.allowed === true) return decision;
        }
      }
    }
    return undefined;
  }

  /**
   * Stores a decision. A denial withdraws every permission for the same resource that could come from the same role:
   * otherwise a client that may no longer list could still watch from the copy while no API server is reachable.
   */
  put(identityKey: string, attributes: ResourceAttributes, decision: Decision): void {
    if (!decision.allowed) this.withdraw(identityKey, attributes);
    if (attributes.name.length > MOST_NAME || attributes.namespace.length > MOST_NAME) return;
    const key = decisionKey(identityKey, attributes);
    const before = this.get(identityKey, attributes);
    if (before !== undefined && before.allowed !== decision.allowed) this.#mapFor(before).delete(key);
    // The time of the review is not stored, so the same decision again causes no write to disk.
    const text = storedText(decision);
    if (before === undefined || storedText(before) !== text) this.#memory.put(key, Buffer.from(text));
    this.#mapFor(decision).set(key, decision, this.#holderOf(identityKey));
  }

  /** Deletes every permission for the same resource that could come from the role that allowed this. */
  withdraw(identityKey: string, { group, resource, namespace }: ResourceAttributes): void {
    const prefixes = READS.map((verb) => `${PREFIX}${[identityKey, verb, group, resource].join('/')}/`);
    for (const key of this.#allowed.keysOf(identityKey)) {
      const prefix = prefixes.find((each) => key.startsWith(each));
      if (prefix === undefined) continue;
      const [of = ''] = key.slice(prefix.length).split('/');
      if (namespace !== '' && of !== '' && of !== namespace) continue;
      this.#allowed.delete(key);
      this.#memory.delete(key);
    }
  }

  /** Deletes all decisions for one identity. */
  forget(identityKey: string): void {
    for (const map of [this.#allowed, this.#denied])
      for (const key of map.keysOf(identityKey)) map.delete(key);
    this.#memory.deletePrefix(`${PREFIX}${identityKey}/`);
  }

  #mapFor({ allowed }: Decision): FairMap<Decision> {
    return allowed ? this.#allowed : this.#denied;
  }
}

/**
 * The version is not part of the key, because RBAC rules do not name versions. Only the name can contain a
 * slash; it is the last part, so keys are unambiguous.
 */
export const decisionKey = (
  identityKey: string,
  { verb, group, resource, namespace, name }: ResourceAttributes,
): string => PREFIX + [identityKey, verb, group, resource, namespace, name].join('/');

const storedText = ({ allowed, username, reason }: Decision): string =>
  JSON.stringify({ allowed, username, reason: reason?.slice(0, MOST_REASON) });
