import type { KubeObject } from '@tidegate/kube';
import type { Verb } from '@tidegate/serving';
import type { PoolLookup } from '../../scope/index.ts';

/** The resource of a response, without its version: a filter handles all versions of a resource. */
export interface FilteredResource {
  group: string;
  resource: string;
}

/** What filters may use besides the object. */
export interface FilterContext {
  /** The node that this hub runs on. */
  readonly nodeName: string;
  /** The address at which pods and kube-proxy reach the hub over HTTPS. */
  readonly hub: { readonly host: string; readonly port: number };
  /** Which pool each node belongs to. */
  readonly membership: PoolLookup;
  /** The Service with the key `namespace/name`, with only the metadata that decides its scope. Undefined: not known. */
  service(key: string): KubeObject | undefined;
}

/**
 * A rule that changes or hides objects for some components. Filters are pure: the result depends only on the object and on
 * what `dependsOn` returns. They must not modify the object, which all clients share, and applying a filter twice must give
 * the same result as applying it once.
 */
export interface Filter {
  readonly name: string;
  /** The components that the filter applies to by default: the user agent up to the first slash, in lower case. */
  readonly components: readonly string[];
  readonly resources: readonly FilteredResource[];
  /** Default: get, list and watch. */
  readonly verbs?: readonly Verb[];
  /** Returns the same object if nothing changes, and undefined if the component must not see it. */
  apply(object: KubeObject, context: FilterContext): KubeObject | undefined;
  /**
   * What else the result for this object depends on: `service:<namespace>/<name>`, or `node:<name>` for the pools of a
   * node. When one of them changes, the object is filtered again.
   */
  dependsOn?(object: KubeObject, context: FilterContext): string[];
}

/** Receives changed dependencies, and the newest resourceVersion of the objects that changed them. */
export type DependencyListener = (dependencies: ReadonlySet<string>, resourceVersion: string) => void;

/** The filters for one component and resource, in their fixed order. Chains with the same filters have the same id. */
export interface Chain {
  /** Empty if there are no filters. */
  readonly id: string;
  readonly filters: readonly Filter[];
  apply(object: KubeObject): KubeObject | undefined;
  dependsOn(object: KubeObject): string[];
}
