import type { ResourceRequest } from '@tidegate/serving';
import type { Memory } from '../identity/index.ts';

/** What a caller wants to do. */
export type ResourceAttributes = Pick<
  ResourceRequest,
  'verb' | 'group' | 'version' | 'resource' | 'namespace' | 'name'
>;

/** What the API server said to one question. */
export interface Decision {
  readonly allowed: boolean;
  /** Of a refusal: whom it refused, and whatever it added. */
  readonly username?: string;
  readonly reason?: string;
  /** By the monotonic clock; absent when it was before this process. */
  readonly askedAt?: number;
}

const PREFIX = 'access/';
const READS: ResourceAttributes['verb'][] = ['list', 'watch', 'get'];
const MOST_REMEMBERED = 10_000;

/** The API server's answers, by identity and question. The oldest go when there are too many. */
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

  get(identityKey: string, attributes: ResourceAttributes): Decision | undefined {
    return this.#known.get(decisionKey(identityKey, attributes));
  }

  /**
   * What was allowed that shows at least as much: whoever may watch or list a resource sees every object of it, in all
   * namespaces if it may do that there. For when nobody can be asked.
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
    // When it was asked is for this process only: the same answer again costs no write.
    const text = storedText(decision);
    if (before === undefined || storedText(before) !== text) this.#memory.put(key, Buffer.from(text));
    if (this.#known.size > MOST_REMEMBERED) this.#drop(this.#known.keys().next().value!);
  }

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

/** Authorizers do not look at the version. Slashes can be in none of these but the name. */
export const decisionKey = (
  identityKey: string,
  { verb, group, resource, namespace, name }: ResourceAttributes,
): string => PREFIX + [identityKey, verb, group, resource, namespace, name].join('/');

const storedText = ({ allowed, username, reason }: Decision): string =>
  JSON.stringify({ allowed, username, reason });
