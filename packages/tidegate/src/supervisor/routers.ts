/** What a router says when it is asked itself, which nobody in the cloud can do while the link of its node is cut. */

import type { Pod } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';
import { ask } from './http.ts';

export interface RouterReport {
  pod: string;
  node: string;
  /** Whether its port for http is answered. */
  answers: boolean;
  /** What carries the bytes. */
  dataPlane?: string;
  /** When that last took a change (RFC 3339). */
  lastChange?: string;
}

/** The pods of the router of this name. */
export const askRouters = (name: string, pods: readonly Pod[]): Promise<RouterReport[]> =>
  Promise.all(pods.filter(({ metadata }) => metadata.labels?.[ROUTER_LABEL] === name).map(askRouter));

async function askRouter(pod: Pod): Promise<RouterReport> {
  const at = (port: string): string | undefined => urlOf(pod, port);
  const [http, metrics] = await Promise.all(
    [at('http'), at('admin')].map((url) => (url === undefined ? undefined : ask(`${url}/metrics`))),
  );
  return {
    pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
    node: pod.spec?.nodeName ?? '',
    answers: http !== undefined,
    ...readMetrics(metrics?.status === 200 ? metrics.body : ''),
  };
}

function urlOf({ spec, status }: Pod, portName: string): string | undefined {
  const ports = spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  const port = ports.find(({ name }) => name === portName)?.containerPort;
  return status?.podIP === undefined || port === undefined ? undefined : `http://${status.podIP}:${port}`;
}

/** From the text format of Prometheus. */
export function readMetrics(text: string): Pick<RouterReport, 'dataPlane' | 'lastChange'> {
  const dataPlane = /^tidegate_router_data_plane\{name="(\w+)"\} 1$/m.exec(text)?.[1];
  const seconds = Number(/^tidegate_router_last_change_timestamp_seconds (\S+)$/m.exec(text)?.[1] ?? 0);
  return {
    ...(dataPlane !== undefined && { dataPlane }),
    ...(seconds > 0 && { lastChange: new Date(seconds * 1000).toISOString() }),
  };
}
