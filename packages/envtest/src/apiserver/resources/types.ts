/** The definition of a resource, for built-in kinds and custom resources. */
import type { KubeObject } from '@tidegate/kube';
import type { Exchange, FieldError, Verb } from '@tidegate/serving';
import type { Schema } from '../schema/types.ts';
import type { Store } from '../store/types.ts';

export type { Verb } from '@tidegate/serving';

export interface UserInfo {
  username: string;
  uid?: string;
  groups: string[];
  extra?: Record<string, string[]>;
}

/** The context of a request for strategies. */
export interface RequestContext {
  user: UserInfo;
  now: Date;
  store: Store;
  dryRun: boolean;
  /** Adds a `Warning` header to the response. */
  warn(message: string): void;
}

/** A column of `kubectl get`. Columns with priority 0 are always shown, those with priority 1 only with `-o wide`. */
export interface Column {
  name: string;
  type: string;
  format: string;
  description: string;
  priority: number;
}

export interface TablePrinter {
  columns: Column[];
  cells(object: KubeObject, now: Date): unknown[];
}

export interface ServedVersion {
  name: string;
  schema: Schema;
  printer: TablePrinter;
  /** Sent as a `Warning` header to clients that use this version. */
  deprecationWarning?: string;
  /** Conversion from and to the storage version. Without it, only apiVersion differs. Both return a new object. */
  toStorage?(object: KubeObject): KubeObject;
  fromStorage?(object: KubeObject): KubeObject;
  /** Objects that were written at this revision or later are stored as `fromStorage` would return them. */
  currentFrom?: number;
  /** The fields that selectors can use, if they differ between versions; see ResourceDefinition. */
  selectableFields?(object: KubeObject): Record<string, string>;
  /** Validation for objects that are written in this version, if it differs between versions. */
  strategy?: Pick<Strategy, 'validate' | 'validateStatusUpdate'>;
  /** Validation before an object of this version is converted, if a webhook converts it. */
  unconverted?: Pick<Strategy, 'validate'>;
}

/** Converts objects of one kind to a version, in bulk. Objects that are already in that version are not changed. */
export type Converter = (objects: readonly KubeObject[], apiVersion: string) => Promise<KubeObject[]>;

/**
 * The behavior of a kind. All functions receive objects in the storage version. Functions that modify the object do so
 * in place, on a copy that the caller owns. The caller handles what all kinds share: validation of metadata, separation
 * of status and spec, generation, uid and timestamps.
 */
export interface Strategy {
  defaults?(object: KubeObject): void;
  /** Sets the fields that the server owns: resets fields that clients cannot set, and allocates addresses. */
  prepareForCreate?(object: KubeObject, context: RequestContext): void;
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: RequestContext): void;
  /** In an update, `old` is the previous state, for kinds that tolerate existing errors. */
  validate?(object: KubeObject, old?: KubeObject): FieldError[];
  /** Called in addition to `validate`, for example for immutable fields. */
  validateUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  validateStatusUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  /** Warnings do not reject the request, for example for deprecated fields. */
  warnings?(object: KubeObject, old: KubeObject | undefined): string[];
  /** Called once the deletion is durable, for example to release an address. */
  afterDelete?(object: KubeObject): void;
}

/** `scale` is served generically, and views of the object are too. All others have a handler. */
export interface Subresource {
  group: string;
  version: string;
  kind: string;
  verbs: Verb[];
  /** For views of the object, for example `approval`: resets what cannot be changed through them. */
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: RequestContext): void;
  /** Handles the verb: receives the stored parent and the decoded body, and returns the response. */
  handle?: SubresourceHandler;
  /** Writes the response itself, for example a stream. */
  connect?: Connect;
}

export interface ConnectRequest {
  /** The stored parent. */
  parent: KubeObject;
  /** How a client of `proxy` wants to reach the parent. Both are empty for the default. */
  target: { scheme: string; port: string };
  /** The rest of the path after the subresource, percent-encoded. */
  subpath: string;
  query: URLSearchParams;
  exchange: Exchange;
  /** Aborted when the client disconnects or the server stops. */
  signal: AbortSignal;
}

/** May throw an ApiError until it has started to respond. */
export type Connect = (request: ConnectRequest) => Promise<void>;

export interface SubresourceRequest {
  verb: Verb;
  parent: KubeObject;
  body: KubeObject;
  context: RequestContext;
}

/**
 * `replace`: stores this new state of the parent, with the checks of an update, then returns `respond` or the parent.
 */
export type SubresourceHandler = (
  request: SubresourceRequest,
) => Promise<{ replace?: KubeObject; respond?: KubeObject; code?: number }>;

export interface ScalePaths {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

/** The objects of a resource that is not stored; `namespace` is undefined for all namespaces. */
export type Compute = (store: Store, namespace: string | undefined, now: Date) => KubeObject[];

export interface ResourceDefinition {
  group: string;
  plural: string;
  singular: string;
  kind: string;
  listKind: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  /** Name in the store. Resources with the same objects share it, such as events in core and events.k8s.io. */
  storage: string;
  /** Group of the stored objects. Default: the group of the resource. */
  storageGroup?: string;
  storageVersion: string;
  /** Preferred version first. */
  versions: ServedVersion[];
  verbs: Verb[];
  subresources: Record<string, Subresource>;
  /** Returns the errors of a name in the words of kube-apiserver. `prefix` is true for a generateName. */
  checkName(name: string, prefix: boolean): string[];
  /**
   * Values for field selectors in addition to metadata.name and metadata.namespace. Other fields cannot be selected.
   */
  selectableFields?(object: KubeObject): Record<string, string>;
  /** A PUT of an object that does not exist creates it. */
  createOnUpdate?: boolean;
  /** An update must have a resourceVersion. */
  requiresResourceVersion?: boolean;
  /** DELETE returns the object instead of a Status. */
  returnsDeleted?: boolean;
  /** The dotted paths that `scale` reads and writes; set if `scale` is served. */
  scale?: ScalePaths;
  /** True if metadata.generation counts changes of the desired state. */
  generation: boolean;
  /** The object is a custom resource: it is stored with sorted keys, and items of lists keep kind and apiVersion. */
  custom: boolean;
  /** Converts between versions with a webhook, before `fromStorage` of the version. */
  convert?: Converter;
  strategy: Strategy;
  /** Removes fields that the storage version does not have before an object is stored. Returns a new object. */
  pruneForStorage?(object: KubeObject): KubeObject;
  /** For resources whose objects are computed for each get and list. Nothing is stored. */
  compute?: Compute;
  /** For review resources: computes the response to a create. Nothing is stored. */
  review?(object: KubeObject, context: RequestContext): Promise<KubeObject>;
}
