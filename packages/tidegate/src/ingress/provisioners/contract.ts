import type { Logger } from '@tidegate/kube';
import type { L7Router, RouterAddress, RouterLoadBalancer } from '../../api/index.ts';
import type { HostName } from '../model.ts';
import type { Capability } from './capabilities.ts';
import type { MoreParameters, ParameterSchema } from './parameters.ts';
import type { RouterSnapshot } from './snapshot.ts';

/**
 * What is known about a kind of load balancers without its program: enough to accept classes, to check their parameters
 * and to place hosts.
 */
export interface ProvisionerProfile {
  /** The canonical name, `spec.controller` of its classes, for example `tidegate.io/nginx`. */
  readonly controller: string;
  /** Other values of `spec.controller` with the same meaning, for example `kubernetes.io/nginx`. */
  readonly aliases: readonly string[];
  /** `spec.driver` of its L7Routers: `nginx` for `tidegate.io/nginx`, the whole controller name for other prefixes. */
  readonly driver: string;
  /** What one load balancer can hold. Parameters of a class can lower it (`maxHosts`), never raise it. */
  readonly limits: Capacity;
  /**
   * What its load balancers can do. A host that needs more is not served, and its Ingresses get an event. A program outside
   * of the manager does this itself.
   */
  readonly capabilities: ReadonlySet<Capability>;
  /** Its own parameters, besides those that all provisioners have. Checked before the provisioner sees them. */
  readonly parameters: ParameterSchema;
  readonly moreParameters?: MoreParameters;
  readonly programming: Programming;
  /** Parameters of classes that do not set them, for each value of `spec.controller`. */
  readonly defaults?: (controller: string) => Readonly<Record<string, string>>;
}

/**
 * A kind of load balancers. Every method is level-triggered: the manager calls it again after a change, a failure, a
 * restart, and from time to time, so a call must find out itself what is already done. Calls for one router never
 * overlap; calls for different routers do.
 *
 * An error that a method throws is reported in the conditions of the L7Router, word for word, and the call is repeated
 * with a growing delay. So its message says what is wrong and what to do, and contains no secrets. If the error has a field
 * `reason` in CamelCase, it is the reason of the condition.
 */
export interface Provisioner extends ProvisionerProfile {
  /** Which endpoints `snapshot.upstreams` has. Default: `pods`. */
  endpointsOf?(router: L7Router): 'pods' | 'nodePorts';
  /** Creates or updates the load balancer, without routes. */
  ensure(router: L7Router, context: ProvisionContext, signal: AbortSignal): Promise<Ensured>;
  /**
   * Deletes the load balancer. `gone`: nothing is left, also if there never was anything. Otherwise it is called again
   * after `againAfterMs`.
   */
  remove(router: L7Router, context: ProvisionContext, signal: AbortSignal): Promise<Removed>;
  /**
   * Only for `programming: 'manager'`: makes the load balancer serve exactly the snapshot. Called after `ensure` has
   * returned `ready`.
   */
  reconcile?(
    router: L7Router,
    snapshot: RouterSnapshot,
    signal: AbortSignal,
    progress?: ReconcileProgress,
  ): Promise<Reconciled>;
  /**
   * Names of all routers that this cluster has a load balancer for, found by what identifies them in the cloud. The manager
   * calls `forget` for those that do not exist.
   */
  routers?(signal: AbortSignal): Promise<Iterable<string>>;
  /** Cleans up after a router that has disappeared without `remove`, because a user removed its finalizer. */
  forget?(router: string, signal: AbortSignal): Promise<void>;
}

/**
 * Throw it if another attempt is pointless until the router or the settings of the manager change, for example because the
 * administrator does not allow the router. The message becomes a condition.
 */
export class RefusedError extends Error {
  override readonly name = 'RefusedError';
}

/** What programs routes: an agent beside the data plane, the manager, or another program. */
export type Programming = 'agent' | 'manager' | 'external';

/** What a load balancer can hold. An absent field means unlimited. */
export interface Capacity {
  readonly hosts?: number;
  /** Paths and default backends. */
  readonly rules?: number;
  readonly certificates?: number;
  /** Different backends: a Service and port, with its protocol. */
  readonly upstreams?: number;
  /** Size of the names of hosts, paths and upstreams. An estimate of the size of a configuration. */
  readonly bytes?: number;
}

/** What a provisioner gets with each call. It is created with everything that does not depend on the router. */
export interface ProvisionContext {
  /** All parameters of the class, as the user wrote them. They were checked with `parameters` of the provisioner. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly log: Logger;
}

/** Facts about a load balancer outside of the cluster. They become `status.loadBalancer`. */
export type LoadBalancer = RouterLoadBalancer;

export interface Ensured {
  /** Where clients reach the load balancer. Empty as long as that is not known. */
  readonly addresses: readonly RouterAddress[];
  /** Whether the load balancer can be programmed and accepts connections. */
  readonly ready: boolean;
  /**
   * CamelCase, and a sentence. For the condition Ready if `ready` is false; otherwise for the condition Provisioned, if the
   * load balancer serves but is not as the class says.
   */
  readonly reason?: string;
  readonly message?: string;
  readonly loadBalancer?: LoadBalancer;
  /** Call `ensure` again after this time, for example to see whether the load balancer has been created. */
  readonly againAfterMs?: number;
}

export interface Removed {
  readonly gone: boolean;
  /** If it is not gone. Without it, the next change of an object that the provisioner watches causes the next call. */
  readonly againAfterMs?: number;
}

/** For a `reconcile` that takes long. */
export interface ReconcileProgress {
  /**
   * Whether the routes have changed since the snapshot was taken. A call with much left to do can return early then, as
   * `incomplete`, so that for example new endpoints do not wait for all other changes.
   */
  readonly isOutdated: () => boolean;
}

export interface Reconciled {
  /** The call has returned early. It is repeated at once, with a newer snapshot. All other fields count for nothing. */
  readonly incomplete?: boolean;
  /** Hosts of the snapshot that are not served as the snapshot says. All others are. */
  readonly failed: ReadonlyMap<HostName, FailedHost>;
  /** Call `reconcile` again after this time, even if nothing changes. A throw has a growing delay instead. */
  readonly againAfterMs?: number;
}

/** Why a host is not served. It becomes `status.failedHosts`, and an event of its Ingresses. */
export interface FailedHost {
  /** CamelCase, for example `QuotaExceeded`. */
  readonly reason: string;
  readonly message: string;
}
