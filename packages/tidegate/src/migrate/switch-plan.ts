/**
 * The plan of `tidegate migrate side-by-side`, `switch` and `finish`: which Ingresses are created, changed and deleted, in which order.
 * Pure.
 *
 * An Ingress has one class, so the other controller serves a copy of it, in the other class. The controller of the class of the
 * Ingress itself writes its status, which DNS tools follow. A switch changes the class, and with it the copy. Both controllers
 * serve all paths after each step, so a switch can be broken off at any step, and continued with the same command.
 */
import { createHash } from 'node:crypto';
import { type Ingress, keyOf } from '@tidegate/kube';
import {
  INGRESS_ANNOTATION_PREFIX,
  INGRESS_CLASS_ANNOTATION,
  MIGRATION_COPY_LABEL,
  MIGRATION_COPY_OF_ANNOTATION,
} from '../api/index.ts';
import { classNameOf } from '../ingress/compile/index.ts';
import { NGINX_PREFIX } from '../ingress/nginx-annotations/index.ts';

/** One write. */
export type SwitchStep =
  | { readonly kind: 'create' | 'replace' | 'delete'; readonly object: Ingress; readonly why: string }
  | { readonly kind: 'setClass'; readonly object: Ingress; readonly className: string; readonly why: string };

/** The steps of one Ingress, in their order. */
export interface IngressPlan {
  readonly ingress: string;
  readonly steps: readonly SwitchStep[];
  /** What a user should know before. */
  readonly warnings: readonly string[];
  /** Why the Ingress cannot be switched. Then there are no steps. */
  readonly refusal?: string;
}

export interface SwitchClasses {
  /** The class of ingress-nginx, and that of Tidegate. */
  readonly old: string;
  readonly new: string;
}

export type SwitchGoal = 'sideBySide' | 'switch' | 'switchBack' | 'finish';

/** Which Ingresses are meant, by key. Undefined: all of both classes. */
export function planSwitch(
  ingresses: readonly Ingress[],
  classes: SwitchClasses,
  goal: SwitchGoal,
  selected?: ReadonlySet<string>,
): IngressPlan[] {
  const copies = ingresses.filter(isCopy);
  const originals = ingresses.filter((ingress) => !isCopy(ingress));
  const byKey = new Map(ingresses.map((each) => [keyOf(each), each]));
  const concerned = originals.filter((each) =>
    selected === undefined
      ? [classes.old, classes.new].includes(classNameOf(each) ?? '') && isMoving(each, classes, goal, copies)
      : selected.has(keyOf(each)),
  );
  return concerned.map((original) => {
    const own = copies.filter((copy) => isOf(copy, original));
    return new Planning(original, own, classes, byKey).plan(goal);
  });
}

/** Other Ingresses of the class of Tidegate have never been in the class of ingress-nginx: only those with a copy move. */
const isMoving = (
  ingress: Ingress,
  classes: SwitchClasses,
  goal: SwitchGoal,
  copies: readonly Ingress[],
): boolean =>
  (classNameOf(ingress) === classes.old && goal !== 'finish') || copies.some((copy) => isOf(copy, ingress));

const isCopy = ({ metadata }: Ingress): boolean =>
  metadata.labels?.[MIGRATION_COPY_LABEL] === 'true' &&
  metadata.annotations?.[MIGRATION_COPY_OF_ANNOTATION] !== undefined;

const isOf = (copy: Ingress, original: Ingress): boolean =>
  copy.metadata.namespace === original.metadata.namespace &&
  copy.metadata.annotations?.[MIGRATION_COPY_OF_ANNOTATION] === original.metadata.name;

class Planning {
  readonly #original: Ingress;
  readonly #copies: readonly Ingress[];
  readonly #classes: SwitchClasses;
  readonly #existing: ReadonlyMap<string, Ingress>;
  readonly #steps: SwitchStep[] = [];

  constructor(
    original: Ingress,
    copies: readonly Ingress[],
    classes: SwitchClasses,
    existing: ReadonlyMap<string, Ingress>,
  ) {
    this.#original = original;
    this.#copies = copies;
    this.#classes = classes;
    this.#existing = existing;
  }

  plan(goal: SwitchGoal): IngressPlan {
    const ingress = keyOf(this.#original);
    const refusal = this.#refusal(goal);
    if (refusal !== undefined) return { ingress, steps: [], warnings: [], refusal };
    const { old, new: next } = this.#classes;
    const current = classNameOf(this.#original);
    if (goal === 'finish') for (const copy of this.#copies) this.#delete(copy, 'the move is over');
    else {
      const wanted = goal === 'switch' ? next : goal === 'switchBack' ? old : `${current}`;
      const other = wanted === next ? old : next;
      this.#ensureCopy(other);
      if (current !== wanted)
        this.#steps.push({
          kind: 'setClass',
          object: this.#original,
          className: wanted,
          why: `the controller of ${wanted} writes the status, and that of ${other} serves the copy`,
        });
      for (const copy of this.#copies)
        if (classNameOf(copy) !== other) this.#delete(copy, 'the Ingress itself has this class');
    }
    return { ingress, steps: this.#steps, warnings: this.#warnings() };
  }

  #refusal(goal: SwitchGoal): string | undefined {
    const { old, new: next } = this.#classes;
    const current = classNameOf(this.#original) ?? '';
    if (![old, next].includes(current))
      return `its class is ${current === '' ? 'not set' : current}, and neither ${old} nor ${next}`;
    if (goal === 'finish')
      return current === next ? undefined : `its class is still ${old}: run tidegate migrate switch first`;
    for (const className of [old, next]) {
      const found = this.#existing.get(keyOf(copyOf(this.#original, className)));
      if (found !== undefined && !isOf(found, this.#original))
        return `Ingress ${keyOf(found)} has the name that the copy needs: rename it`;
    }
    if (goal !== 'switch' || current === next) return undefined;
    const copy = this.#copies.find((each) => classNameOf(each) === next);
    if (copy === undefined) return 'Tidegate does not serve it yet: run tidegate migrate side-by-side first';
    return (copy.status?.loadBalancer?.ingress ?? []).length > 0
      ? undefined
      : `its copy ${keyOf(copy)} has no address yet: kubectl describe ingress shows why`;
  }

  #ensureCopy(className: string): void {
    const wanted = copyOf(this.#original, className);
    const found = this.#copies.find((each) => classNameOf(each) === className);
    const why = `the controller of ${className} serves the same paths`;
    if (found === undefined) this.#steps.push({ kind: 'create', object: wanted, why });
    else if (!isSame(found, wanted)) {
      const { resourceVersion } = found.metadata;
      const metadata = {
        ...wanted.metadata,
        name: `${found.metadata.name}`,
        ...(resourceVersion && { resourceVersion }),
      };
      this.#steps.push({ kind: 'replace', object: { ...wanted, metadata }, why: 'the Ingress has changed' });
    }
  }

  #delete(object: Ingress, why: string): void {
    this.#steps.push({ kind: 'delete', object, why });
  }

  /** Tools that write the Ingress again would undo the change of the class. */
  #warnings(): string[] {
    if (!this.#steps.some(({ kind }) => kind === 'setClass')) return [];
    const { labels = {}, annotations = {} } = this.#original.metadata;
    const names = [...Object.keys(labels), ...Object.keys(annotations)];
    const tool = TOOLS.find(([prefix]) => names.some((name) => name.startsWith(prefix)))?.[1];
    return tool === undefined
      ? []
      : [`${tool} manages it: change its class there too, or the class will be changed back`];
  }
}

const TOOLS: readonly (readonly [string, string])[] = [
  ['argocd.argoproj.io/', 'Argo CD'],
  ['kustomize.toolkit.fluxcd.io/', 'Flux'],
  ['helm.toolkit.fluxcd.io/', 'Flux'],
  ['meta.helm.sh/', 'Helm'],
];

/** Only annotations of the two controllers are copied: others would make tools act twice, for example for certificates or DNS. */
const COPIED = [NGINX_PREFIX, INGRESS_ANNOTATION_PREFIX];
/** external-dns ignores objects with another value than its own, so the addresses of the copy do not get into DNS. */
const NO_DNS = { 'external-dns.alpha.kubernetes.io/controller': 'none' };
const MOST_CHARACTERS = 253;

export function copyOf({ apiVersion, kind, metadata, spec }: Ingress, className: string): Ingress {
  const { name = '', namespace, annotations = {} } = metadata;
  const copied = Object.entries(annotations).filter(([key]) =>
    COPIED.some((prefix) => key.startsWith(prefix)),
  );
  return {
    apiVersion,
    kind,
    metadata: {
      name: nameOfCopy(name, className),
      ...(namespace !== undefined && { namespace }),
      labels: { [MIGRATION_COPY_LABEL]: 'true' },
      annotations: { ...Object.fromEntries(copied), ...NO_DNS, [MIGRATION_COPY_OF_ANNOTATION]: name },
    },
    spec: { ...spec, ingressClassName: className },
  };
}

function nameOfCopy(name: string, className: string): string {
  const whole = `${name}-${className}`;
  if (whole.length <= MOST_CHARACTERS) return whole;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, 8);
  return `${whole.slice(0, MOST_CHARACTERS - 9)}-${hash}`;
}

const isSame = (a: Ingress, b: Ingress): boolean => {
  const text = ({ metadata, spec }: Ingress): string =>
    canonical([metadata.labels, metadata.annotations, spec]);
  return text(a) === text(b);
};

/** JSON with sorted keys. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each,
  );

/** The patch that changes the class. ingress-nginx prefers the older annotation to the field, so the annotation is removed. */
export const classPatch = ({ metadata }: Ingress, className: string): object => ({
  metadata: {
    // Another client must not have changed the Ingress since the plan was shown.
    ...(metadata.resourceVersion && { resourceVersion: metadata.resourceVersion }),
    ...(metadata.annotations?.[INGRESS_CLASS_ANNOTATION] !== undefined && {
      annotations: { [INGRESS_CLASS_ANNOTATION]: null },
    }),
  },
  spec: { ingressClassName: className },
});
