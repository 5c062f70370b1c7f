import type { KubeObject, Resource } from '@tidegate/kube';

/** Receives the dependencies whose change may change corrected objects. */
export type CorrectionListener = (dependencies: ReadonlySet<string>) => void;

/**
 * A step before the filters, for all clients: it replaces an object by one that is more current than what the API server
 * sent. Like a filter, it is pure, and must not modify the object.
 */
export interface Correction {
  /** Whether objects of this resource are ever corrected. */
  appliesTo(resource: Resource): boolean;
  /** Returns the same object if nothing has to be corrected. */
  apply(object: KubeObject): KubeObject;
  /** What the result depends on besides the object, see `Filter.dependsOn`. */
  dependsOn(object: KubeObject): string[];
  subscribe(listener: CorrectionListener): () => void;
}
