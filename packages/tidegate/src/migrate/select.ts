import { type Ingress, type IngressClass, keyOf } from '@tidegate/kube';
import { classNameOf } from '../ingress/compile/index.ts';

/** The controller that IngressClasses of ingress-nginx name, unless it runs with `--controller-class`. */
const NGINX_CONTROLLER = 'k8s.io/ingress-nginx';

/** The class that ingress-nginx serves without an IngressClass, by the older annotation. */
const ANNOTATED_CLASS = 'nginx';

/** The Ingresses that one ingress-nginx serves. It serves all classes that name its controller. */
export interface Moved {
  readonly controller: string;
  readonly classNames: readonly string[];
  /** The oldest first, as ingress-nginx reads them. */
  readonly ingresses: readonly Ingress[];
}

/** Which Ingresses move. */
export interface Selection {
  readonly moved: readonly Moved[];
  /** Without a class. ingress-nginx serves them only with `--watch-ingress-without-class`. */
  readonly withoutClass: readonly string[];
  /** The number of Ingresses by another class. */
  readonly others: ReadonlyMap<string, number>;
}

export interface SelectionOptions {
  /** Only these classes, whatever controller they name. Default: the classes of ingress-nginx. */
  readonly classNames?: readonly string[] | undefined;
  readonly controller?: string | undefined;
}

export function selectIngresses(
  ingresses: readonly Ingress[],
  classes: readonly IngressClass[],
  { classNames, controller = NGINX_CONTROLLER }: SelectionOptions = {},
): Selection {
  const controllers = new Map(classes.map(({ metadata, spec }) => [metadata.name ?? '', spec?.controller]));
  const isMoved = (className: string): boolean =>
    classNames === undefined
      ? (controllers.get(className) ?? (className === ANNOTATED_CLASS ? controller : '')) === controller
      : classNames.includes(className);
  const byController = new Map<string, { classNames: Set<string>; ingresses: Ingress[] }>();
  const withoutClass: string[] = [];
  const others = new Map<string, number>();
  for (const ingress of [...ingresses].sort(compareAge)) {
    const className = classNameOf(ingress);
    if (className === undefined) withoutClass.push(keyOf(ingress));
    else if (!isMoved(className)) others.set(className, (others.get(className) ?? 0) + 1);
    else {
      const key = controllers.get(className) ?? controller;
      const known = byController.get(key) ?? { classNames: new Set(), ingresses: [] };
      known.classNames.add(className);
      known.ingresses.push(ingress);
      byController.set(key, known);
    }
  }
  const moved = [...byController].map(([key, { classNames: names, ingresses: own }]) => ({
    controller: key,
    classNames: [...names].sort(),
    ingresses: own,
  }));
  return { moved, withoutClass, others };
}

/** An Ingress of a file has no creation time. It is younger than all others, as in the compiler. */
function compareAge(a: Ingress, b: Ingress): number {
  const [first, second] = [a, b].map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? ''));
  const age = (time = Number.NaN): number => (Number.isNaN(time) ? Number.MAX_SAFE_INTEGER : time);
  return age(first) - age(second) || (keyOf(a) < keyOf(b) ? -1 : 1);
}
