import type { Clock, ClusterConfig, Logger } from '@tidegate/kube';
import type { HealthTimings, LbMode } from './upstream/index.ts';

export interface HubOptions {
  /** The node that it stands on. */
  nodeName: string;
  /** API servers, the best first. */
  servers: string[];
  /** How to verify them, and the node's credentials. */
  config: ClusterConfig;
  /** With whose credentials a new node asks for its own; then those of `config` are not used. */
  bootstrap?: ClusterConfig | undefined;
  lbMode: LbMode;
  /** How closely the API servers are watched. */
  healthTimings?: HealthTimings;
  /** Where all is kept that it needs without a link. */
  stateDirectory: string;
  /** Where pods and kube-proxy find it, by https. */
  hubAddress: string;
  /** Where programs of the node find it. */
  bindAddress: string;
  port: number;
  securePort: number;
  adminPort: number;
  /** A file; who may open it speaks as the node. */
  socket: string;
  /** Names of filters, or `*`. */
  disabledFilters: string[];
  /** Files of the serving certificate; absent: the cluster signs one. */
  tls?: { cert: string; key: string } | undefined;
  /** PEM; who signs the certificates of nodes. */
  clientCa: string;
  version: string;
  log: Logger;
  clock?: Clock;
}
