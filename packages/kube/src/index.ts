/**
 * `@tidegate/kube`: a client for any Kubernetes API, and the parts that controllers are made of. It does not depend on
 * the program that uses it.
 *
 *   base/         clock, logger, metrics, JSON, object types: what everything below builds on
 *   config/       where the API server is, and which credentials to use
 *   client/       requests, watches, errors, discovery
 *   kinds/        the built-in kinds, as types and as resources
 *   informer/     local copies of resources that stay current
 *   queue/        what to do next: keys, deduplicated, with backoff
 *   controller/   workers that take keys from a queue and reconcile them
 *   writes/       server-side apply, finalizers, conditions
 *   leader/       leader election, so that only one replica works
 *   events/       Events, which report to users what happened to their object
 *   selectors/    label and field selectors
 *   certificates/, patch/, protobuf/, testing/   entry points of their own
 *
 * One reconcile, from the server and back:
 *   a watch event changes the cache of an Informer, which then calls its handlers
 *   -> a Controller maps the object to keys and adds them to its WorkQueue, where equal keys become one
 *   -> a worker takes a key and calls `reconcile(key, signal)`, which reads from caches only
 *   -> reconcile writes with `Applier.apply`, updates the status with conditions, and records an Event
 *   -> the outcome decides what happens to the key: done, retry after a while, retry with backoff, or wait for a change
 *   -> the write comes back as a watch event, and the next reconcile finds nothing to do.
 */

// Foundations
export { backoffDelay } from './base/backoff.ts';
export {
  aborted,
  type Clock,
  childController,
  orAborted,
  type Random,
  sleep,
  systemClock,
} from './base/clock.ts';
export { humanDuration } from './base/duration.ts';
export { isJsonMap, type JsonMap, jsonEqual, mapIn, ownField, setField } from './base/json.ts';
export { MAX_JSON_BYTES, MAX_JSON_DEPTH, measureJson, tooDeepAt } from './base/json-size.ts';
export { type LogFields, type Logger, silentLogger } from './base/log.ts';
export { type CounterMetric, Metrics, type MetricsOptions } from './base/metrics.ts';
// Objects and built-in kinds
export {
  apiVersionOf,
  type Condition,
  type GroupVersionKind,
  type KubeList,
  type KubeObject,
  type ListMeta,
  type ManagedFieldsEntry,
  type ObjectMeta,
  type OwnerReference,
  parseApiVersion,
  type Status,
  type StatusCause,
  type StatusDetails,
} from './base/object.ts';
export {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  roundUpToMilli,
} from './base/quantity.ts';
export { Serial } from './base/serial.ts';
export { SetsByKey } from './base/sets-by-key.ts';
export { textTable } from './base/text-table.ts';
// Client
export { KubeClient } from './client/client.ts';
export { type DiscoveredResource, Discovery, UnknownKindError } from './client/discovery.ts';
export { type Connections, Dispatchers, type Peer } from './client/dispatchers.ts';
export {
  ApiStatusError,
  ConnectionError,
  DeadlineError,
  isAlreadyExists,
  isBadRequest,
  isConflict,
  isExpired,
  isForbidden,
  isInvalid,
  isNamespaceTerminating,
  isNotFound,
  isServerUnavailable,
  isTooLargeResourceVersion,
  isTooManyRequests,
  isUnauthorized,
  isUnknownField,
  statusOf,
} from './client/errors.ts';
export {
  type CallOptions,
  type DeleteOptions,
  type ListOptions,
  PATCH_TYPES,
  type PatchOptions,
  type PatchType,
  type SelectOptions,
  type WatchOptions,
  type WriteOptions,
} from './client/options.ts';
export { keyOf, qualifiedName, type Resource, splitKey, type Target } from './client/resource.ts';
export type { HttpRequest, TransportOptions } from './client/transport.ts';
export type { WatchEvent } from './client/watch.ts';
// Configuration
export {
  type ClusterConfig,
  ConfigError,
  type Credential,
  type CredentialSource,
  fixedCredential,
  type Impersonation,
} from './config/cluster.ts';
export { configFromContext } from './config/from-context.ts';
export { inClusterConfig } from './config/in-cluster.ts';
export { type Kubeconfig, readKubeconfig } from './config/kubeconfig.ts';
export { loadConfig } from './config/load.ts';
// Controllers
export type { ControllerContext } from './controller/context.ts';
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileResult,
  TerminalError,
} from './controller/controller.ts';
export { type FinalizingOptions, finalizing } from './controller/finalizing.ts';
export { type ServiceEndpoint, ServiceEndpoints } from './controller/service-endpoints.ts';
export { EventRecorder } from './events/recorder.ts';
export { type ConnectionState, pause } from './informer/connection-state.ts';
// Informers
export { type Handler, Informer, type InformerOptions } from './informer/informer.ts';
export { Informers } from './informer/informers.ts';
export { type Mirror, Reflector } from './informer/reflector.ts';
export { compareResourceVersions, isOlderVersion, Tombstones } from './informer/resource-version.ts';
export { type Cache, type IndexFunction, Store } from './informer/store.ts';
export { SERVICE_NAME_LABEL, serviceOfSlice } from './kinds/endpoint-slices.ts';
// One type and one Resource for each built-in kind, for example Pod and PODS.
export * from './kinds/kinds.ts';
export { LeaderElector, type LeaderOptions, LeadershipLostError } from './leader/leader.ts';
export { type QueueOptions, WorkQueue } from './queue/queue.ts';
// Selectors
export {
  FieldMatcher,
  LabelMatcher,
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  labelKeyProblems,
  labelValueProblems,
  matcherFromLabels,
  matcherFromSelector,
  meetsNodeRequirement,
  parseFieldSelector,
  parseLabelSelector,
  SelectorError,
} from './selectors/index.ts';
// Writes
export { Applier, withoutField } from './writes/apply.ts';
export {
  type ConditionUpdate,
  getCondition,
  isConditionTrue,
  removeCondition,
  setCondition,
} from './writes/conditions.ts';
export { addFinalizer, hasFinalizer, isBeingDeleted, removeFinalizer } from './writes/finalizers.ts';
