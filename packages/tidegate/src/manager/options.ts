import type { Clock, KubeClient, Logger, Metrics } from '@tidegate/kube';
import type { ClientAuthentication, Endpoint } from '../admission/index.ts';
import type { Provisioner, RouterPolicy, RouterPorts } from '../ingress/index.ts';
import type { Part } from './names.ts';

export interface ManagerOptions {
  client: KubeClient;
  /** What this manager runs. Default: everything. */
  parts?: readonly Part[];
  /** Must be unique among the managers of a cluster, for example the name of the pod. */
  identity: string;
  /**
   * `endpoint`: how API servers reach the webhook, if not at host and port. `clients`: which clients may send reviews, if
   * not every client that can connect.
   */
  webhook: { host: string; port: number; endpoint?: Endpoint; clients?: ClientAuthentication };
  health: { host: string; port: number };
  /** Addresses that hubs listen on in addition to the addresses of their node. */
  hubAddresses: readonly string[];
  /** Whether a node may choose its pool when it registers. Default: `allow`. */
  registration?: 'allow' | 'refuse';
  /** Comma-separated addresses and ranges that serving certificates of all nodes may contain. */
  nodeAddresses?: string;
  /** The default image of routers. */
  routerImage: string;
  /** What else may run as a router, and where. */
  routerPolicy?: RouterPolicy;
  /** The ports of routers in their pods, if not the usual ones. */
  routerPorts?: RouterPorts;
  /** Provisioners besides those of every manager, for example for a cloud. */
  provisioners?: readonly Provisioner[];
  /** If false, the manager acts as the leader immediately. Use only if a single manager runs. */
  leaderElection: boolean;
  /**
   * Whether to install the CRDs and the webhook configurations. If false, the manager waits for the CRDs, and writes only
   * the CA bundle and the conditions of the webhooks.
   */
  installDefinitions: boolean;
  log: Logger;
  metrics: Metrics;
  clock?: Clock;
  signal: AbortSignal;
  /** Called once, when admission is served. Leadership is not required for that. */
  onReady?: (addresses: { healthPort: number }) => void;
}
