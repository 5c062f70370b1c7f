import { isDeepStrictEqual } from 'node:util';
import { type Ingress, type IngressClass, keyOf } from '@tidegate/kube';
import { INGRESS_CONTROLLER_PREFIX } from '../../api/index.ts';
import { classNameOf } from './class-name.ts';
import { type IngressFacts, readIngress } from './ingress-facts.ts';

/** Is told which Ingresses are ours, and which are no more. */
interface Follower {
  came(ingress: IngressFacts): void;
  left(ingress: IngressFacts): void;
}

/** The Ingresses of our classes, as far as those classes are ours. */
export class IngressSet {
  readonly #classNames: readonly string[];
  readonly #follower: Follower;
  /** By key. */
  readonly #ingresses = new Map<string, { className: string; facts: IngressFacts }>();
  /** Classes that bear one of our names, but have another controller. */
  readonly #foreign = new Set<string>();

  constructor(classNames: readonly string[], follower: Follower) {
    this.#classNames = classNames;
    this.#follower = follower;
  }

  get(key: string): IngressFacts | undefined {
    const known = this.#ingresses.get(key);
    return known === undefined || this.#foreign.has(known.className) ? undefined : known.facts;
  }

  *values(): Generator<IngressFacts> {
    for (const { className, facts } of this.#ingresses.values())
      if (!this.#foreign.has(className)) yield facts;
  }

  put(ingress: Ingress): void {
    const key = keyOf(ingress);
    const className = classNameOf(ingress);
    if (className === undefined || !this.#classNames.includes(className)) {
      this.remove(key);
      return;
    }
    const facts = readIngress(ingress);
    const known = this.#ingresses.get(key);
    // Most updates of an Ingress are of its status.
    if (known?.className === className && isDeepStrictEqual(known.facts, facts)) return;
    this.remove(key);
    this.#ingresses.set(key, { className, facts });
    if (!this.#foreign.has(className)) this.#follower.came(facts);
  }

  remove(key: string): void {
    const facts = this.get(key);
    this.#ingresses.delete(key);
    if (facts !== undefined) this.#follower.left(facts);
  }

  putClass({ metadata, spec }: IngressClass): void {
    const isOurs = spec?.controller === undefined || spec.controller.startsWith(INGRESS_CONTROLLER_PREFIX);
    this.#setForeign(`${metadata.name}`, !isOurs);
  }

  /** Nothing is known against a class that is not there. */
  removeClass(name: string): void {
    this.#setForeign(name, false);
  }

  #setForeign(name: string, foreign: boolean): void {
    if (this.#foreign.has(name) === foreign) return;
    if (foreign) this.#foreign.add(name);
    else this.#foreign.delete(name);
    for (const { className, facts } of this.#ingresses.values()) {
      if (className === name) this.#follower[foreign ? 'left' : 'came'](facts);
    }
  }
}
