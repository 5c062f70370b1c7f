/** Queries router pods directly, which also works while their node is disconnected from the API server. */

import type { Pod } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';
import { httpGet } from './http.ts';

export interface RouterReport {
  pod: string;
  node: string;
  /** Whether its HTTP port responds. */
  responding: boolean;
  /** The name of the data plane, for example nginx. */
  dataPlane?: string;
  /** When the data plane last applied a change (RFC 3339). */
  lastChange?: string;
}

/** Queries every pod of the router with this name. */
export const queryRouters = (name: string, pods: readonly Pod[]): Promise<RouterReport[]> =>
  Promise.all(pods.filter(({ metadata }) => metadata.labels?.[ROUTER_LABEL] === name).map(queryRouter));

/** Queries the HTTP port and the metrics of one pod; either may fail without affecting the other. */
async function queryRouter(pod: Pod): Promise<RouterReport> {
  const at = (port: string): string | undefined => urlOf(pod, port);
  const [http, metrics] = await Promise.all(
    [at('http'), at('admin')].map((url) => (url === undefined ? undefined : httpGet(`${url}/metrics`))),
  );
  return {
    pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
    node: pod.spec?.nodeName ?? '',
    responding: http !== undefined,
    ...readMetrics(metrics?.status === 200 ? metrics.body : ''),
  };
}

function urlOf({ spec, status }: Pod, portName: string): string | undefined {
  const ports = spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  const port = ports.find(({ name }) => name === portName)?.containerPort;
  return status?.podIP === undefined || port === undefined ? undefined : `http://${status.podIP}:${port}`;
}

/** Reads two metrics in the Prometheus text format. */
export function readMetrics(text: string): Pick<RouterReport, 'dataPlane' | 'lastChange'> {
  const dataPlane = /^tidegate_router_data_plane\{name="(\w+)"\} 1$/m.exec(text)?.[1];
  const seconds = Number(/^tidegate_router_last_change_timestamp_seconds (\S+)$/m.exec(text)?.[1] ?? 0);
  return {
    ...(dataPlane !== undefined && { dataPlane }),
    ...(seconds > 0 && { lastChange: new Date(seconds * 1000).toISOString() }),
  };
}
