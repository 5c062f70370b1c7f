import { isJsonMap, type JsonMap, type KubeObject } from '@tidegate/kube';
import { toPointer } from '@tidegate/kube/patch';
import { listAt, type Path, write } from '../json.ts';
import type { Workload } from '../workloads.ts';

/** The reason why a rule cannot be applied to an object. Overriders return it, because it is an expected result. */
export class OverrideError {
  /** The field of the object, as a JSON Pointer. Empty if the rule itself is wrong. */
  readonly path: string;
  readonly message: string;

  constructor(path: string, message: string) {
    this.path = shortened(path, MOST_PATH);
    this.message = message;
  }
}

/**
 * Errors are kept for every object of an application, and contain names that its author chose: without limits, a small
 * application would have gigabytes of messages.
 */
const MOST_PATH = 300;
const MOST_NAMED = 5;
const MOST_NAME = 100;

const shortened = (text: string, most: number): string =>
  text.length <= most ? text : `${text.slice(0, most)}...`;

/** The first of the names, comma-separated, for messages. */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, MOST_NAMED).map((name) => shortened(name, MOST_NAME));
  const rest = names.length - shown.length;
  return [...shown, ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
}

/**
 * Counts the work of a rule that its own size and the number of containers do not show. One step is about the application of
 * a rule to one container. Throws if the application costs too much.
 */
export type Charge = (steps: number) => void;

/** Copying items of a list or keys of a map is much cheaper. */
export const ITEMS_PER_STEP = 8;

/**
 * Applies one rule to one workload. Returns the changed object, an error, or undefined if the object has nothing that the
 * rule matches. Never changes `object` in place.
 */
export type Overrider<R> = (
  object: KubeObject,
  rule: R,
  workload: Workload,
  charge: Charge,
) => KubeObject | OverrideError | undefined;

export const overrideError = (path: Path, message: string): OverrideError =>
  new OverrideError(toPointer(path), message);

/** The fields of a pod's spec with the containers that rules change. */
export const CONTAINER_LISTS = ['containers', 'initContainers'];

/**
 * Calls `change` for each container and init container. Returns the changed object, the first error, or undefined if
 * no container was changed.
 */
export function changeContainers(
  object: KubeObject,
  workload: Workload,
  change: (container: JsonMap, path: Path) => JsonMap | OverrideError | undefined,
): KubeObject | OverrideError | undefined {
  let changed: KubeObject | undefined;
  for (const list of CONTAINER_LISTS) {
    const at = [...workload.pod, 'spec', list];
    const containers = listAt(object, at);
    const results: unknown[] = [];
    let matches = false;
    for (const [index, container] of containers.entries()) {
      const result = isJsonMap(container) ? change(container, [...at, String(index)]) : undefined;
      if (result instanceof OverrideError) return result;
      matches ||= result !== undefined;
      results.push(result ?? container);
    }
    // Written once for the whole list, because each write copies it.
    if (matches) changed = write(changed ?? object, at, results);
  }
  return changed;
}

/** Like `changeContainers`, but only for the container with the given name. */
export const changeContainer = (
  object: KubeObject,
  workload: Workload,
  name: string,
  change: (container: JsonMap, path: Path) => JsonMap | OverrideError | undefined,
): KubeObject | OverrideError | undefined =>
  changeContainers(object, workload, (container, path) =>
    container.name === name ? change(container, path) : undefined,
  );

/**
 * Returns which of the wanted values are missing, for rules that remove or replace values. If all are missing, the rule
 * is meant for another workload and does not match this one (`all`). If only some are missing, the rule is wrong.
 */
export function lacking(wanted: readonly string[], present: readonly string[]): readonly string[] | 'all' {
  const has = new Set(present);
  const missing = wanted.filter((one) => !has.has(one));
  return missing.length === wanted.length && missing.length > 0 ? 'all' : missing;
}
