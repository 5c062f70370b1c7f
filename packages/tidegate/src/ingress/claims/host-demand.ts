import { type Ingress, keyOf, SetsByKey } from '@tidegate/kube';
import { ALL_HOSTS } from '../../api/index.ts';
import { classNameOf, readIngress } from '../compile/index.ts';
import { wildcardsAbove } from '../match/index.ts';
import type { HostName } from '../model.ts';

/** Key of a host of a class. Names of classes contain no slash. */
export const demandKey = (className: string, host: HostName): string => `${className}/${host}`;

export function splitDemandKey(key: string): { className: string; host: HostName } {
  const slash = key.indexOf('/');
  return { className: key.slice(0, slash), host: key.slice(slash + 1) };
}

/**
 * Which namespaces have Ingresses that name a host of a class. The namespace that named it first comes first, as far as
 * this process has seen it: if a host gets free, it goes to the namespace that has waited longest.
 */
export class HostDemand {
  /** By key of the Ingress: the keys that it names. */
  readonly #named = new Map<string, ReadonlySet<string>>();
  /** By key of the host: namespaces, with their Ingresses. A Map keeps the order of insertion. */
  readonly #namespaces = new Map<string, Map<string, Set<string>>>();
  readonly #keysOfClass = new SetsByKey();
  /** By wildcard: the keys of all hosts below it, in all classes. */
  readonly #below = new SetsByKey();

  /** Returns the keys of hosts that are concerned. */
  put(ingress: Ingress): Set<string> {
    const key = keyOf(ingress);
    const before = this.#named.get(key) ?? NONE;
    const after = namedBy(ingress);
    const left = [...before].filter((each) => !after.has(each));
    const joined = [...after].filter((each) => !before.has(each));
    const namespace = `${ingress.metadata.namespace}`;
    for (const each of left) this.#leave(each, namespace, key);
    for (const each of joined) this.#join(each, namespace, key);
    if (after.size === 0) this.#named.delete(key);
    else this.#named.set(key, after);
    return new Set([...left, ...joined]);
  }

  remove(ingress: Ingress): Set<string> {
    const key = keyOf(ingress);
    const before = this.#named.get(key) ?? NONE;
    for (const each of before) this.#leave(each, `${ingress.metadata.namespace}`, key);
    this.#named.delete(key);
    return new Set(before);
  }

  /** Puts a namespace before those that wait: it has the host. */
  prefer(key: string, namespace: string): void {
    const namespaces = this.#namespaces.get(key);
    const ingresses = namespaces?.get(namespace);
    if (namespaces === undefined || ingresses === undefined) return;
    this.#namespaces.set(key, new Map([[namespace, ingresses], ...namespaces]));
  }

  namespacesOf(key: string): string[] {
    return [...(this.#namespaces.get(key)?.keys() ?? [])];
  }

  keysOfClass(className: string): ReadonlySet<string> {
    return this.#keysOfClass.get(className);
  }

  keysBelow(wildcard: HostName): ReadonlySet<string> {
    return this.#below.get(wildcard);
  }

  #join(key: string, namespace: string, ingress: string): void {
    const { className, host } = splitDemandKey(key);
    const namespaces = this.#namespaces.get(key) ?? new Map<string, Set<string>>();
    this.#namespaces.set(key, namespaces);
    namespaces.set(namespace, (namespaces.get(namespace) ?? new Set()).add(ingress));
    this.#keysOfClass.add(className, key);
    for (const wildcard of wildcardsAbove(host)) this.#below.add(wildcard, key);
  }

  #leave(key: string, namespace: string, ingress: string): void {
    const namespaces = this.#namespaces.get(key);
    const ingresses = namespaces?.get(namespace);
    ingresses?.delete(ingress);
    if (ingresses?.size === 0) namespaces?.delete(namespace);
    if (namespaces?.size !== 0) return;
    const { className, host } = splitDemandKey(key);
    this.#namespaces.delete(key);
    this.#keysOfClass.delete(className, key);
    for (const wildcard of wildcardsAbove(host)) this.#below.delete(wildcard, key);
  }
}

const NONE: ReadonlySet<string> = new Set();

function namedBy(ingress: Ingress): ReadonlySet<string> {
  const className = classNameOf(ingress);
  if (className === undefined) return NONE;
  const wanted = [...readIngress(ingress).claims].filter(([, { isLeftOut }]) => !isLeftOut);
  return new Set(wanted.map(([host]) => demandKey(className, host === '' ? ALL_HOSTS : host)));
}
