import { isDeepStrictEqual } from 'node:util';
import { type Ingress, type IngressClass, keyOf, SetsByKey } from '@tidegate/kube';
import { ALLOWED_RESPONSE_HEADERS_ANNOTATION, type AttachedPolicy } from '../../api/index.ts';
import {
  type AttachedKind,
  classScope,
  ingressKeysOf,
  ingressScope,
  namespaceScope,
  PolicyIndex,
  type Scope,
} from '../attached-policies/index.ts';
import { isBuiltIn } from '../own-controllers.ts';
import { readAllowedHeaders } from '../policy/index.ts';
import { classNameOf } from './class-name.ts';
import type { IngressFacts } from './facts.ts';
import { readIngress } from './ingress-facts.ts';

/** Called when an Ingress starts or stops to belong to the classes. An update is a removal and an addition. */
interface Follower {
  added(ingress: IngressFacts): void;
  removed(ingress: IngressFacts): void;
}

interface Known {
  /** The class that the Ingress counts for. */
  readonly className: string;
  readonly isDeparting: boolean;
  readonly facts: IngressFacts;
  /** To read it again when its policies or its class change. */
  readonly ingress: Ingress;
  /** The classes whose policies apply. */
  readonly policyClasses: readonly string[];
}

/**
 * The Ingresses of the given classes, and those that have left the classes but are still served here. Ingresses of a class
 * with a foreign controller are kept, but not reported.
 */
export class IngressSet {
  #classNames: readonly string[];
  #departing: ReadonlySet<string> = new Set();
  #defaults: Readonly<Record<string, string>> = {};
  readonly #follower: Follower;
  readonly #isOurs: (controller: string) => boolean;
  /** By key. */
  readonly #ingresses = new Map<string, Known>();
  /** Names of classes whose IngressClass has a controller that is not one of Tidegate. */
  readonly #foreign = new Set<string>();
  readonly #policies = new PolicyIndex();
  /** The Ingresses that policies of a class or a namespace apply to. */
  readonly #byScope = new SetsByKey();
  /** Ingresses whose policies have changed. */
  readonly #outdated = new Set<string>();
  /** By class: the headers that its Ingresses can add to responses. */
  readonly #allowedHeaders = new Map<string, readonly string[]>();

  constructor(
    classNames: readonly string[],
    follower: Follower,
    isOurs: (controller: string) => boolean = isBuiltIn,
  ) {
    this.#classNames = classNames;
    this.#isOurs = isOurs;
    this.#follower = follower;
  }

  /** Replaces the annotations of Ingresses that do not have them. Returns whether to put all Ingresses again. */
  setDefaults(annotations: Readonly<Record<string, string>>): boolean {
    if (isDeepStrictEqual(annotations, this.#defaults)) return false;
    this.#defaults = annotations;
    return true;
  }

  /** Put all Ingresses again afterwards. */
  setClassNames(classNames: readonly string[]): void {
    this.#classNames = classNames;
  }

  /**
   * Replaces the Ingresses that count although their class is another one. Returns those that were added or removed: put them
   * again afterwards.
   */
  setDeparting(keys: ReadonlySet<string>): string[] {
    const before = this.#departing;
    this.#departing = keys;
    return [...[...before].filter((key) => !keys.has(key)), ...[...keys].filter((key) => !before.has(key))];
  }

  /** Whether the Ingress counts although its class is another one. */
  isDeparting(key: string): boolean {
    return this.#ingresses.get(key)?.isDeparting ?? false;
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
    const written = classNameOf(ingress) ?? '';
    const isDeparting = !this.#classNames.includes(written);
    const className = this.#classOf(written, key);
    if (className === undefined) {
      this.remove(key);
      return;
    }
    // The old class may have protected an Ingress that leaves it, and the new one protects it already.
    const policyClasses = isDeparting ? [...this.#classNames, written] : [className];
    const { namespace = '' } = ingress.metadata;
    const attached = this.#policies.policiesOf(policyClasses, { namespace, keys: ingressKeysOf(ingress) });
    const allowedHeaders = this.#allowedHeaders.get(className) ?? [];
    const facts = readIngress(ingress, attached, { defaults: this.#defaults, allowedHeaders });
    const known = this.#ingresses.get(key);
    const next = { className, isDeparting, facts, ingress, policyClasses };
    // Most updates of an Ingress change only its status.
    if (known !== undefined && isDeepStrictEqual({ ...known, ingress }, next)) {
      this.#ingresses.set(key, next);
      return;
    }
    this.remove(key);
    this.#ingresses.set(key, next);
    for (const scope of scopesOf(next)) this.#byScope.add(scope, key);
    if (!this.#foreign.has(className)) this.#follower.added(facts);
  }

  /** The Ingresses that the policy applies to are read again by the next `refresh`. */
  putPolicy(kind: AttachedKind, policy: AttachedPolicy): void {
    this.#outdate(this.#policies.put(kind, policy));
  }

  removePolicy(kind: AttachedKind, key: string): void {
    this.#outdate(this.#policies.remove(kind, key));
  }

  get policyDigest(): string {
    return this.#policies.digest;
  }

  /** Reads the Ingresses again whose policies have changed. */
  refresh(): void {
    const keys = [...this.#outdated];
    this.#outdated.clear();
    for (const key of keys) {
      const known = this.#ingresses.get(key);
      if (known !== undefined) this.put(known.ingress);
    }
  }

  #outdate(scopes: readonly Scope[]): void {
    for (const scope of scopes) for (const key of this.#byScope.get(scope)) this.#outdated.add(key);
  }

  /** The class that the Ingress counts for. Undefined: none of these. */
  #classOf(written: string, key: string): string | undefined {
    if (this.#classNames.includes(written)) return written;
    return this.#departing.has(key) ? this.#classNames[0] : undefined;
  }

  remove(key: string): void {
    const facts = this.get(key);
    const known = this.#ingresses.get(key);
    if (known !== undefined) for (const scope of scopesOf(known)) this.#byScope.delete(scope, key);
    this.#ingresses.delete(key);
    if (facts !== undefined) this.#follower.removed(facts);
  }

  putClass({ metadata, spec }: IngressClass): void {
    const isOurs = spec?.controller === undefined || this.#isOurs(spec.controller);
    this.#setForeign(`${metadata.name}`, !isOurs);
    const written = metadata.annotations?.[ALLOWED_RESPONSE_HEADERS_ANNOTATION];
    this.#setAllowedHeaders(`${metadata.name}`, readAllowedHeaders(written));
  }

  /** A class without an IngressClass object is not foreign. */
  removeClass(name: string): void {
    this.#setForeign(name, false);
    this.#setAllowedHeaders(name, []);
  }

  #setAllowedHeaders(name: string, allowed: readonly string[]): void {
    if (isDeepStrictEqual(this.#allowedHeaders.get(name) ?? [], allowed)) return;
    if (allowed.length === 0) this.#allowedHeaders.delete(name);
    else this.#allowedHeaders.set(name, allowed);
    const concerned = [...this.#ingresses.values()].filter(({ className }) => className === name);
    for (const { ingress } of concerned) this.put(ingress);
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

const scopesOf = ({ ingress, policyClasses }: Known): Scope[] => [
  ...policyClasses.map(classScope),
  namespaceScope(`${ingress.metadata.namespace}`),
  ...ingressKeysOf(ingress).map(ingressScope),
];
