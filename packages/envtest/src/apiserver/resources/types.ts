/** What the server needs to know of a resource to serve it: built-in kinds and custom ones alike. */
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

/** What a strategy may look at besides the object. */
export interface RequestContext {
  user: UserInfo;
  now: Date;
  store: Store;
  dryRun: boolean;
  /** Sends a `Warning` header with the answer. */
  warn(message: string): void;
}

/** One column of `kubectl get`. Priority 0 is always shown, 1 with `-o wide`. */
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
  /** Sent as a `Warning` header to whoever uses this version. */
  deprecationWarning?: string;
  /** Conversions from and to the storage version; absent: only apiVersion differs. They return a new object. */
  toStorage?(object: KubeObject): KubeObject;
  fromStorage?(object: KubeObject): KubeObject;
  /** What objects written at this version are held to, where that is not the same for all versions. */
  strategy?: Pick<Strategy, 'validate' | 'validateStatusUpdate'>;
}

/**
 * What is particular about a kind. Everything works on the storage version. Functions that change, change the object
 * in place; it is the caller's own copy. What all kinds share (metadata rules, keeping status and spec apart,
 * generation, uid, timestamps) is done by the caller.
 */
export interface Strategy {
  defaults?(object: KubeObject): void;
  /** Fields the server owns: drops what a client may not set, allocates addresses. */
  prepareForCreate?(object: KubeObject, context: RequestContext): void;
  prepareForUpdate?(object: KubeObject, old: KubeObject, context: RequestContext): void;
  /** On an update `old` is the state before, for kinds that forgive what was wrong already. */
  validate?(object: KubeObject, old?: KubeObject): FieldError[];
  /** Called besides `validate`: immutable fields and the like. */
  validateUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  validateStatusUpdate?(object: KubeObject, old: KubeObject): FieldError[];
  /** Advice that does not refuse anything, such as deprecated fields. */
  warnings?(object: KubeObject, old: KubeObject | undefined): string[];
  /** Called once the change is durable, e.g. to give an address back. */
  afterDelete?(object: KubeObject): void;
}

/** `status` and `scale` are served generically; the others name who serves them. */
export interface Subresource {
  group: string;
  version: string;
  kind: string;
  verbs: Verb[];
  /** Handles the verb: gets the stored parent and the decoded body, returns what is answered. */
  handle?: SubresourceHandler;
  /** Answers by itself, with whatever bytes it likes and for as long as it likes. */
  connect?: Connect;
}

export interface ConnectRequest {
  /** As stored. */
  parent: KubeObject;
  /** What stands behind the subresource in the path, percent-encoded. */
  subpath: string;
  query: URLSearchParams;
  exchange: Exchange;
  /** Aborted when the client leaves or the server stops. */
  signal: AbortSignal;
}

/** May throw an ApiError for as long as it has not begun to answer. */
export type Connect = (request: ConnectRequest) => Promise<void>;

export interface SubresourceRequest {
  verb: Verb;
  parent: KubeObject;
  body: KubeObject;
  context: RequestContext;
}

/** `replace`: store this new state of the parent (checked like any update), then answer `respond` or the parent. */
export type SubresourceHandler = (
  request: SubresourceRequest,
) => Promise<{ replace?: KubeObject; respond?: KubeObject; code?: number }>;

export interface ScalePaths {
  specReplicasPath: string;
  statusReplicasPath: string;
  labelSelectorPath?: string;
}

export interface ResourceDefinition {
  group: string;
  plural: string;
  singular: string;
  kind: string;
  listKind: string;
  namespaced: boolean;
  shortNames: string[];
  categories: string[];
  /** Name in the store; shared by resources that are two faces of one (core and events.k8s.io events). */
  storage: string;
  /** Group and version that the stored bytes are in; the group is the resource's own unless it shares a storage. */
  storageGroup?: string;
  storageVersion: string;
  /** Preferred first. */
  versions: ServedVersion[];
  verbs: Verb[];
  subresources: Record<string, Subresource>;
  /** Says what is wrong with a name, in the server's words; `prefix`: it is a generateName. */
  checkName(name: string, prefix: boolean): string[];
  /** Values for field selectors besides metadata.name and metadata.namespace; a key not in it is not selectable. */
  selectableFields?(object: KubeObject): Record<string, string>;
  /** PUT on a name that does not exist creates it. */
  createOnUpdate?: boolean;
  /** An update must say which resourceVersion it was made from. */
  requiresResourceVersion?: boolean;
  /** DELETE answers with the object instead of a Status. */
  returnsDeleted?: boolean;
  /** Where `scale` reads and writes, as dotted paths below the object; present where `scale` is served. */
  scale?: ScalePaths;
  /** True when metadata.generation counts changes of the desired state. */
  generation: boolean;
  /** The object is a custom resource: bytes are stored with sorted keys and items keep kind and apiVersion. */
  custom: boolean;
  strategy: Strategy;
  /** Leaves out what the storage version does not know, right before an object is stored; it returns a new object. */
  pruneForStorage?(object: KubeObject): KubeObject;
  /** Reviews: nothing is stored, a create is answered by this. */
  review?(object: KubeObject, context: RequestContext): Promise<KubeObject>;
}
