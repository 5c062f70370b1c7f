import type { Clock, ClusterConfig, Logger } from '@tidegate/kube';
import type { GroupTimings } from './group/index.ts';
import type { ConnectionLimits } from './listeners/index.ts';
import type { HealthTimings, LbMode } from './upstream/index.ts';

export interface HubOptions {
  /** The name of the Node object that the hub runs on. */
  nodeName: string;
  /** URLs of the API servers, in order of preference. */
  servers: string[];
  /** How to verify the API servers, and the credentials of the node. */
  config: ClusterConfig;
  /**
   * Credentials with which a new node requests a client certificate. If set, the hub does not use the
   * credentials of `config`.
   */
  bootstrap?: ClusterConfig | undefined;
  /** How to choose among several API servers. */
  lbMode: LbMode;
  /** Intervals and thresholds of the health probes. */
  healthTimings?: HealthTimings;
  /** The directory for everything that the hub needs while no API server is reachable. */
  stateDirectory: string;
  /**
   * The address at which pods and kube-proxy connect to the hub, over HTTPS. It is the same on every node.
   */
  hubAddress: string;
  /** The address at which programs on the node connect to the hub. */
  bindAddress: string;
  /** The plain HTTP port. */
  httpPort: number;
  /** The HTTPS port. */
  httpsPort: number;
  /** The port for health, metrics and debugging. */
  adminPort: number;
  /** Path of a unix socket. Any process that can open it is authenticated as the node. */
  socket: string;
  /** The port for the other hubs of the pool, at the address of the node. Undefined: the hub works alone. */
  groupPort?: number | undefined;
  groupTimings?: GroupTimings | undefined;
  /** Names of filters that are not applied; `*` for all. */
  disabledFilters: string[];
  /**
   * Paths of the serving certificate and its key. Without them, the hub requests a certificate from the
   * cluster.
   */
  tls?: { cert: string; key: string } | undefined;
  /** The CA of the node client certificates, in PEM format. */
  clientCa: string;
  /** How many connections clients can have. */
  connectionLimits?: ConnectionLimits | undefined;
  version: string;
  log: Logger;
  clock?: Clock;
}
