import { isDeepStrictEqual } from 'node:util';
import { keyOf } from '@tidegate/kube';
import {
  type AttachedPolicy,
  GUARD_SECTIONS,
  POLICY_SECTIONS,
  type PolicyField,
  type PolicySection,
  type PolicySectionName,
  type PolicyTarget,
} from '../../api/index.ts';

/** A field of a policy that cannot be used. */
export interface FieldProblem {
  /** For example `spec.access.allow[0]`. */
  readonly field: string;
  readonly message: string;
  /** Without the field, clients could do what they must not: the hosts of all targets are closed. */
  readonly closes: boolean;
}

/** A RoutePolicy or ClusterRoutePolicy, read. */
export interface ReadPolicy {
  /** For example `RoutePolicy shop/web`. */
  readonly id: string;
  /** Milliseconds since the epoch. In a conflict, the older policy wins. */
  readonly created: number;
  readonly namespace: string | undefined;
  readonly targets: readonly PolicyTarget[];
  /** By annotation of ingress-nginx without prefix. */
  readonly values: ReadonlyMap<string, string>;
  /** By the same annotation: the field that sets it. */
  readonly fields: ReadonlyMap<string, string>;
  readonly sections: readonly PolicySectionName[];
  readonly overridable: ReadonlySet<string>;
  readonly without: ReadonlySet<string>;
  /** Where Secrets are. Undefined: in the namespace of the Ingress. */
  readonly secretNamespace: string | undefined;
  readonly problems: readonly FieldProblem[];
}

const OTHER_FIELDS: ReadonlySet<string> = new Set([
  'targetRefs',
  'overridable',
  'without',
  'secretNamespace',
]);
const SECTIONS: ReadonlyMap<string, PolicySection> = new Map(Object.entries(POLICY_SECTIONS));

/**
 * Reads a policy. A section or field that this program does not know may protect something, for example if the kind was
 * upgraded before the routers. So it closes the hosts of the targets.
 */
export function readAttachedPolicy(policy: AttachedPolicy): ReadPolicy {
  const { metadata, spec } = policy;
  const isCluster = policy.kind === 'ClusterRoutePolicy';
  const reading = new Reading(spec ?? {}, isCluster);
  const created = Date.parse(metadata.creationTimestamp ?? '');
  return {
    id: `${policy.kind} ${keyOf(policy)}`,
    created: Number.isNaN(created) ? Number.MAX_SAFE_INTEGER : created,
    namespace: isCluster ? undefined : (metadata.namespace ?? ''),
    targets: spec?.targetRefs ?? [],
    overridable: new Set(spec?.overridable),
    without: new Set(spec?.without),
    secretNamespace: isCluster ? (spec?.secretNamespace ?? '') : undefined,
    ...reading.result(),
  };
}

class Reading {
  readonly #values = new Map<string, string>();
  readonly #fields = new Map<string, string>();
  readonly #sections: PolicySectionName[] = [];
  readonly #problems: FieldProblem[] = [];
  readonly #spec: AttachedPolicy['spec'];
  readonly #isCluster: boolean;

  constructor(spec: AttachedPolicy['spec'], isCluster: boolean) {
    this.#spec = spec;
    this.#isCluster = isCluster;
  }

  result(): Pick<ReadPolicy, 'values' | 'fields' | 'sections' | 'problems'> {
    for (const [name, value] of Object.entries(this.#spec)) {
      if (OTHER_FIELDS.has(name) || value === undefined || value === null) continue;
      const section = SECTIONS.get(name);
      const field = `spec.${name}`;
      if (section === undefined) this.#unknown(field, [...SECTIONS.keys()]);
      else if (!isObject(value)) this.#wrong(field, true, 'an object');
      else if (section.ingressOnly && !this.#isForIngresses())
        this.#wrong(field, false, 'it only in a RoutePolicy whose targets are Ingresses');
      else this.#readSection(name as PolicySectionName, section, value);
    }
    // Tenants could write a Secret in their own namespace, and so decide which users there are.
    if (this.#isCluster && this.#values.has('auth-secret') && !this.#spec.secretNamespace)
      this.#wrong('spec.secretNamespace', true, 'the namespace of the Secret of spec.basicAuth');
    if (this.#isCluster && this.#values.has('auth-tls-secret') && !this.#spec.secretNamespace)
      this.#wrong('spec.secretNamespace', true, 'the namespace of the Secret of spec.clientCertificate');
    const { without = [] } = this.#spec;
    for (const [at, each] of without.entries())
      if (!GUARD_SECTIONS.some((name) => name === each))
        this.#wrong(`spec.without[${at}]`, false, `one of ${GUARD_SECTIONS.join(', ')}`);
    return {
      values: this.#values,
      fields: this.#fields,
      sections: this.#sections,
      problems: this.#problems,
    };
  }

  #isForIngresses(): boolean {
    return (this.#spec.targetRefs ?? []).every(({ kind }) => kind === 'Ingress');
  }

  #readSection(name: PolicySectionName, section: PolicySection, value: Record<string, unknown>): void {
    this.#sections.push(name);
    const path = `spec.${name}`;
    for (const [annotation, written] of Object.entries(section.implies ?? {}))
      this.#set(annotation, written, path);
    for (const [key, each] of Object.entries(value)) {
      const field = section.fields[key];
      if (each === undefined || each === null) continue;
      if (field === undefined) this.#unknown(`${path}.${key}`, Object.keys(section.fields));
      else this.#readField(field, each, `${path}.${key}`, section.guards === true);
    }
    if (section.guards && Object.keys(value).length === 0)
      this.#wrong(path, true, `at least one of ${Object.keys(section.fields).join(', ')}`);
  }

  #readField(field: PolicyField, value: unknown, path: string, closes: boolean): void {
    const { form, annotation, choices = {} } = field;
    if (form === 'choice') {
      const written = typeof value === 'string' ? choices[value] : undefined;
      if (written === undefined) this.#wrong(path, closes, `one of ${Object.keys(choices).join(', ')}`);
      for (const [name, text] of Object.entries(written ?? {})) this.#set(name, text, path);
      return;
    }
    const read = textOf(form, value);
    if ('wrong' in read) this.#wrong(path, closes, read.wrong);
    else this.#set(annotation, read.text, path);
  }

  #set(annotation: string, text: string, field: string): void {
    this.#values.set(annotation, text);
    this.#fields.set(annotation, field);
  }

  #unknown(field: string, known: readonly string[]): void {
    const message = `This version of Tidegate does not know the field. It knows ${known.join(', ')}. Remove the field, or upgrade.`;
    this.#problems.push({ field, message, closes: true });
  }

  #wrong(field: string, closes: boolean, expected: string): void {
    this.#problems.push({ field, message: `Invalid value: write ${expected}.`, closes });
  }
}

type Text = { readonly text: string } | { readonly wrong: string };

/** The value of the annotation with the same meaning. No part of a value can become another part of it. */
function textOf(form: Exclude<PolicyField['form'], 'choice'>, value: unknown): Text {
  switch (form) {
    case 'text':
      return typeof value === 'string' ? { text: value } : { wrong: 'a text' };
    case 'flag':
      return typeof value === 'boolean' ? { text: `${value}` } : { wrong: 'true or false' };
    case 'number':
      return Number.isSafeInteger(value) ? { text: `${value}` } : { wrong: 'a whole number' };
    case 'commas':
      return joined(value, ',', /^[^,]+$/, 'a list of texts without commas, with at least one entry');
    case 'spaces':
      return joined(value, ' ', /^\S+$/, 'a list of words, with at least one entry');
    case 'pair': {
      const { from, to } = isObject(value) ? value : {};
      return joined([from, to], ' ', /^[^\s;]+$/, 'from and to, without spaces and semicolons');
    }
  }
}

function joined(value: unknown, separator: string, valid: RegExp, wrong: string): Text {
  const isValid = (each: unknown): boolean => typeof each === 'string' && valid.test(each);
  return Array.isArray(value) && value.length > 0 && value.every(isValid)
    ? { text: value.join(separator) }
    : { wrong };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Whether two versions of a policy mean the same. Most updates change only the status. */
export const isSamePolicy = (a: ReadPolicy | undefined, b: ReadPolicy): boolean => isDeepStrictEqual(a, b);
