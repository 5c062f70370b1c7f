import { isDeepStrictEqual } from 'node:util';
import { type Ingress, type IngressClass, keyOf } from '@tidegate/kube';
import { isBuiltIn } from '../provisioners/index.ts';
import { classNameOf } from './class-name.ts';
import { type IngressFacts, readIngress } from './ingress-facts.ts';

/** Called when an Ingress starts or stops to belong to the classes. An update is a removal and an addition. */
interface Follower {
  added(ingress: IngressFacts): void;
  removed(ingress: IngressFacts): void;
}

/** The Ingresses of the given classes. Ingresses of a class with a foreign controller are kept, but not reported. */
export class IngressSet {
  #classNames: readonly string[];
  readonly #follower: Follower;
  readonly #isOurs: (controller: string) => boolean;
  /** By key. */
  readonly #ingresses = new Map<string, { className: string; facts: IngressFacts }>();
  /** Names of classes whose IngressClass has a controller that is not one of Tidegate. */
  readonly #foreign = new Set<string>();

  constructor(
    classNames: readonly string[],
    follower: Follower,
    isOurs: (controller: string) => boolean = isBuiltIn,
  ) {
    this.#classNames = classNames;
    this.#isOurs = isOurs;
    this.#follower = follower;
  }

  /** Put all Ingresses again afterwards. */
  setClassNames(classNames: readonly string[]): void {
    this.#classNames = classNames;
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
    // Most updates of an Ingress change only its status.
    if (known?.className === className && isDeepStrictEqual(known.facts, facts)) return;
    this.remove(key);
    this.#ingresses.set(key, { className, facts });
    if (!this.#foreign.has(className)) this.#follower.added(facts);
  }

  remove(key: string): void {
    const facts = this.get(key);
    this.#ingresses.delete(key);
    if (facts !== undefined) this.#follower.removed(facts);
  }

  putClass({ metadata, spec }: IngressClass): void {
    const isOurs = spec?.controller === undefined || this.#isOurs(spec.controller);
    this.#setForeign(`${metadata.name}`, !isOurs);
  }

  /** A class without an IngressClass object is not foreign. */
  removeClass(name: string): void {
    this.#setForeign(name, false);
  }

  #setForeign(name: string, foreign: boolean): void {
    if (this.#foreign.has(name) === foreign) return;
    if (foreign) this.#foreign.add(name);
    else this.#foreign.delete(name);
    for (const { className, facts } of this.#ingresses.values()) {
      if (className === name) this.#follower[foreign ? 'removed' : 'added'](facts);
    }
  }
}
