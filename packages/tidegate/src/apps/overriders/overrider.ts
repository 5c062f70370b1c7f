import { isJsonMap, type JsonMap, type KubeObject } from '@tidegate/kube';
import { toPointer } from '@tidegate/kube/patch';
import { listAt, type Path, write } from '../json.ts';
import type { Workload } from '../render/workloads.ts';

/** Why a rule can not do to an object what it says. Returned, not thrown: it is one of the outcomes. */
export class OverrideError {
  /** The place in the object, as a JSON pointer. */
  readonly path: string;
  readonly message: string;

  constructor(path: string, message: string) {
    this.path = path;
    this.message = message;
  }
}

/** The object changed as the rule says; undefined when the object has nothing that the rule is about. */
export type Overrider<R> = (
  object: KubeObject,
  rule: R,
  workload: Workload,
) => KubeObject | OverrideError | undefined;

export const overrideError = (path: Path, message: string): OverrideError =>
  new OverrideError(toPointer(path), message);

/** Changes containers and initContainers one by one; undefined when no container was changed. */
export function changeContainers(
  object: KubeObject,
  workload: Workload,
  change: (container: JsonMap, path: Path) => JsonMap | OverrideError | undefined,
): KubeObject | OverrideError | undefined {
  let changed: KubeObject | undefined;
  for (const list of ['containers', 'initContainers']) {
    for (const [index, container] of listAt(object, [...workload.pod, 'spec', list]).entries()) {
      if (!isJsonMap(container)) continue;
      const path = [...workload.pod, 'spec', list, String(index)];
      const result = change(container, path);
      if (result === undefined) continue;
      if (result instanceof OverrideError) return result;
      changed = write(changed ?? object, path, result);
    }
  }
  return changed;
}

/** The same for the container of one name only. */
export const changeContainer = (
  object: KubeObject,
  workload: Workload,
  name: string,
  change: (container: JsonMap, path: Path) => JsonMap | OverrideError | undefined,
): KubeObject | OverrideError | undefined =>
  changeContainers(object, workload, (container, path) =>
    container.name === name ? change(container, path) : undefined,
  );

/** To remove or replace several things: all must be there. None means that somebody else is meant. */
export function lacking(wanted: readonly string[], present: readonly string[]): readonly string[] | 'all' {
  const missing = wanted.filter((one) => !present.includes(one));
  return missing.length === wanted.length && missing.length > 0 ? 'all' : missing;
}
