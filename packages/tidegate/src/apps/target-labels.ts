import { type Informers, keyOf } from '@tidegate/kube';
import { EDGE_APPLICATIONS, type EdgeApplication } from '../api/index.ts';

/** The label keys with which one application selects nodes. */
export function targetLabelsOf({ spec }: EdgeApplication): string[] {
  const selectors = (spec?.workloadScope?.targetNodeLabels ?? []).map(
    ({ labelSelector = {} }) => labelSelector,
  );
  return selectors.flatMap(({ matchLabels = {}, matchExpressions = [] }) => [
    ...Object.keys(matchLabels),
    ...matchExpressions.map(({ key }) => key),
  ]);
}

/** The label keys with which all applications select nodes. A change costs as much as the application that changes. */
export class TargetLabels {
  readonly #byApplication = new Map<string, readonly string[]>();
  /** How many applications use a key. */
  readonly #uses = new Map<string, number>();

  keys(): string[] {
    return [...this.#uses.keys()];
  }

  set(application: EdgeApplication): void {
    this.delete(application);
    const keys = [...new Set(targetLabelsOf(application))];
    if (keys.length > 0) this.#byApplication.set(keyOf(application), keys);
    for (const key of keys) this.#uses.set(key, (this.#uses.get(key) ?? 0) + 1);
  }

  delete(application: EdgeApplication): void {
    for (const key of this.#byApplication.get(keyOf(application)) ?? []) {
      const uses = (this.#uses.get(key) ?? 0) - 1;
      if (uses > 0) this.#uses.set(key, uses);
      else this.#uses.delete(key);
    }
    this.#byApplication.delete(keyOf(application));
  }
}

/** Keeps the labels current, as long as the informers run. */
export function followTargetLabels(informers: Informers): {
  targetLabels: TargetLabels;
  synced: Promise<void>;
} {
  const targetLabels = new TargetLabels();
  const informer = informers.for(EDGE_APPLICATIONS);
  informer.addHandler({
    onAdd: (application) => targetLabels.set(application),
    onUpdate: (_, application) => targetLabels.set(application),
    onDelete: (application) => targetLabels.delete(application),
  });
  return { targetLabels, synced: informer.synced };
}
