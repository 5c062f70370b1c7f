import type { ResourceRequest } from '@tidegate/serving';
import type { Memory } from '../identity/index.ts';

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
const MAX_DECISIONS = 10_000;

/**
 * The decisions of the API server by identity and question, in memory and on disk. If there are too many, the
 * one that was reviewed longest ago is deleted.
 */
export class Decisions {
  readonly #memory: Memory;
  readonly #known = new Map<string, Decision>();

  private constructor(memory: Memory) {
    this.#memory = memory;
  }

  static async open(memory: Memory): Promise<Decisions> {
    const decisions = new Decisions(memory);
    for (const key of memory.keys(PREFIX)) {
      const stored = await memory.get(key);
      if (stored !== undefined) decisions.#known.set(key, JSON.parse(stored.toString()) as Decision);
    }
    return decisions;
  }

  /** The decision for exactly this question. */
  get(identityKey: string, attributes: ResourceAttributes): Decision | undefined {
    return this.#known.get(decisionKey(identityKey, attributes));
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

  put(identityKey: string, attributes: ResourceAttributes, decision: Decision): void {
    const key = decisionKey(identityKey, attributes);
    const before = this.#known.get(key);
    this.#known.delete(key);
    this.#known.set(key, decision);
    // The time of the review is not stored, so the same decision again causes no write to disk.
    const text = storedText(decision);
    if (before === undefined || storedText(before) !== text) this.#memory.put(key, Buffer.from(text));
    if (this.#known.size > MAX_DECISIONS) this.#drop(this.#known.keys().next().value!);
  }

  /** Deletes all decisions for one identity. */
  forget(identityKey: string): void {
    const prefix = `${PREFIX}${identityKey}/`;
    for (const key of [...this.#known.keys()]) if (key.startsWith(prefix)) this.#known.delete(key);
    this.#memory.deletePrefix(prefix);
  }

  #drop(key: string): void {
    this.#known.delete(key);
    this.#memory.delete(key);
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
  JSON.stringify({ allowed, username, reason });
