/**
 * Talking to any Kubernetes API. This folder owns: where the server is and who we are (`config/`), requests and
 * their failures (`client/`), local copies that stay current (`informer/`), what to do next (`queue/`), doing it
 * (`controller/`), being the only one who does (`leader/`), telling users about it (`events/`, conditions), and
 * making certificates and asking for them (`certificates/`).
 * It knows nothing of the program that uses it.
 *
 * One reconcile, from the server and back:
 *   a watch event changes the cache of an Informer, then reaches its handlers
 *   -> a Controller maps the object to keys and adds them to its WorkQueue, where equal keys become one
 *   -> a worker takes the key and calls `reconcile(key, signal)`, which reads caches only
 *   -> it writes by `Applier.apply`, and status with conditions; whoever it was about reads an event
 *   -> the outcome decides: done, again after a while, again with backoff, or not until something changes
 *   -> the write comes back as a watch event, and the next reconcile finds nothing to do.
 */
export { Applier } from './writes/apply.ts';
export { backoffDelay } from './base/backoff.ts';
export { approveRequest } from './certificates/approve-request.ts';
export {
  type CertificateRequestInfo,
  type ExtendedUsage,
  type Issuer,
  issueCertificate,
  type KeyPair,
  selfSignedCa,
} from './certificates/certificate.ts';
export { type ParsedSigningRequest, parseSigningRequest } from './certificates/parse-signing-request.ts';
export { type CertificateRequest, requestCertificate } from './certificates/request-certificate.ts';
export {
  newSigningRequest,
  type SigningRequest,
  type SigningRequestOptions,
} from './certificates/signing-request.ts';
export { subjectOf } from './certificates/subject.ts';
export type { Subject } from './certificates/x509.ts';
export { KubeClient } from './client/client.ts';
export { type DiscoveredResource, Discovery, UnknownKindError } from './client/discovery.ts';
export { type Connections, Dispatchers, type Peer } from './client/dispatchers.ts';
export * from './client/errors.ts';
export * from './client/options.ts';
export { keyOf, qualifiedName, type Resource, splitKey, type Target } from './client/resource.ts';
export type { HttpRequest, TransportOptions } from './client/transport.ts';
export type { WatchEvent } from './client/watch.ts';
export { aborted, type Clock, childController, orAborted, type Random, sleep, systemClock } from './base/clock.ts';
export * from './writes/conditions.ts';
export * from './config/cluster.ts';
export { configFromContext } from './config/from-context.ts';
export { inClusterConfig } from './config/in-cluster.ts';
export { type Kubeconfig, readKubeconfig } from './config/kubeconfig.ts';
export { loadConfig } from './config/load.ts';
export type { ControllerContext } from './controller/context.ts';
export {
  Controller,
  type ControllerOptions,
  type Reconcile,
  type ReconcileResult,
  TerminalError,
} from './controller/controller.ts';
export { humanDuration } from './base/duration.ts';
export { SERVICE_NAME_LABEL, serviceOfSlice } from './kinds/endpoint-slices.ts';
export { EventRecorder } from './events/recorder.ts';
export * from './writes/finalizers.ts';
export { type Handler, Informer, type InformerOptions } from './informer/informer.ts';
export { Informers } from './informer/informers.ts';
export { type Link, pause } from './informer/link.ts';
export { type Mirror, Reflector } from './informer/reflector.ts';
export { compareResourceVersions, isOlderVersion, Tombstones } from './informer/resource-version.ts';
export { type Cache, type IndexFunction, Store } from './informer/store.ts';
export { isJsonMap, type JsonMap, jsonEqual, mapIn, ownField, setField } from './base/json.ts';
export * from './kinds/kinds.ts';
export { LeaderElector, type LeaderOptions, LeadershipLostError } from './leader/leader.ts';
export { type Logger, silentLogger } from './base/log.ts';
export { type CounterMetric, Metrics } from './base/metrics.ts';
export * from './base/object.ts';
export {
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  roundUpToMilli,
} from './base/quantity.ts';
export { type QueueOptions, WorkQueue } from './queue/queue.ts';
export * from './selectors/index.ts';
export { Serial } from './base/serial.ts';
export { SetsByKey } from './base/sets-by-key.ts';
export { textTable } from './base/text-table.ts';
export { Dispatcher, errors, Pool } from './client/undici.ts';
