import type { KubeObject } from '@tidegate/kube';
import type { Verb } from '@tidegate/serving';
import type { PoolLookup } from '../../scope/index.ts';

/** The resource of an answer, without version: filters know the fields that versions spell differently. */
export interface FilteredResource {
  group: string;
  resource: string;
}

/** What filters may look at besides the object. */
export interface FilterContext {
  /** The node that this hub stands on. */
  readonly nodeName: string;
  /** Where pods and kube-proxy reach the hub by https. */
  readonly hub: { readonly host: string; readonly port: number };
  readonly membership: PoolLookup;
  /** Undefined when it is not known; `namespace/name`. Only what decides its scope is kept of its metadata. */
  service(key: string): KubeObject | undefined;
}

/**
 * One reason to show a component something else than what the API server says. Pure: the outcome depends on the
 * object, and on what `dependsOn` names.
 */
export interface Filter {
  readonly name: string;
  /** Whom it is for without further configuration: the part of the user agent before the slash, in lower case. */
  readonly components: readonly string[];
  readonly resources: readonly FilteredResource[];
  /** Get, list and watch when absent. */
  readonly verbs?: readonly Verb[];
  /** The object itself when nothing changes; undefined when the component must not see it. */
  apply(object: KubeObject, context: FilterContext): KubeObject | undefined;
  /**
   * What else the outcome for this object hangs on: `service:<namespace>/<name>`, `node:<name>` (the pools that the
   * node is in). When one of them changes, the object is filtered again.
   */
  dependsOn?(object: KubeObject, context: FilterContext): string[];
}

/** Told when something that filters depend on has changed. */
export type DependencyListener = (dependencies: ReadonlySet<string>, resourceVersion: string) => void;

/** The filters for one component and resource, in their fixed order. Equal chains have equal ids. */
export interface Chain {
  /** Empty when nothing is filtered. */
  readonly id: string;
  readonly filters: readonly Filter[];
  apply(object: KubeObject): KubeObject | undefined;
  dependsOn(object: KubeObject): string[];
}
