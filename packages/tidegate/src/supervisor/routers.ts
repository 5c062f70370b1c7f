/** Queries router pods directly, which also works while their node is disconnected from the API server. */

import type { Pod } from '@tidegate/kube';
import { ROUTER_LABEL } from '../api/index.ts';
import { type FrontDoor, sampleRequest } from './front-doors.ts';
import { httpGet } from './http.ts';
import { type UrlAnswer, whoAnswers } from './router-identity.ts';

export interface RouterReport {
  pod: string;
  node: string;
  /** Whether the router itself responds on its HTTP port. */
  responding: boolean;
  /** The name of the data plane, for example nginx. */
  dataPlane?: string;
  /** When the data plane last applied a change (RFC 3339). */
  lastChange?: string;
}

export interface FrontDoorReport extends FrontDoor {
  /** Its pods, each queried directly. */
  routers: RouterReport[];
  /** What answers at each of its URLs. */
  answers: UrlAnswer[];
  /** What a request for one of its hosts gets. Absent without such a host, or without an answer. */
  sample?: SampleAnswer;
}

export interface SampleAnswer {
  host: string;
  status: number;
}

/** Queries every pod of a front door. */
const queryRouters = (
  door: Pick<FrontDoor, 'name' | 'identity' | 'sharedPods'>,
  pods: readonly Pod[],
): Promise<RouterReport[]> => Promise.all(podsOf(door, pods).map((pod) => queryRouter(pod, door)));

export const podsOf = (
  { name, sharedPods }: Pick<FrontDoor, 'name' | 'sharedPods'>,
  pods: readonly Pod[],
): Pod[] => pods.filter(({ metadata }) => metadata.labels?.[ROUTER_LABEL] === (sharedPods?.label ?? name));

/** Queries the HTTP port and the metrics of one pod; either may fail without affecting the other. */
async function queryRouter(
  pod: Pod,
  { name, identity, sharedPods }: Pick<FrontDoor, 'name' | 'identity' | 'sharedPods'>,
): Promise<RouterReport> {
  const [http, admin] = [urlOf(pod, 'http', sharedPods?.port), urlOf(pod, 'admin')];
  const [answer, metrics] = await Promise.all([
    http === undefined ? undefined : whoAnswers(http, identity),
    admin === undefined ? undefined : httpGet(`${admin}/metrics`),
  ]);
  return {
    pod: `${pod.metadata.namespace}/${pod.metadata.name}`,
    node: pod.spec?.nodeName ?? '',
    responding: answer?.from === 'router',
    ...readMetrics(metrics?.status === 200 ? metrics.body : '', name),
  };
}

function urlOf({ spec, status }: Pod, portName: string, known?: number): string | undefined {
  const ports = spec?.containers.flatMap(({ ports = [] }) => ports) ?? [];
  const port = known ?? ports.find(({ name }) => name === portName)?.containerPort;
  return status?.podIP === undefined || port === undefined ? undefined : `http://${status.podIP}:${port}`;
}

/** Reads two metrics in the Prometheus text format. Several routers can share a pod, each with its own time. */
export function readMetrics(text: string, router: string): Pick<RouterReport, 'dataPlane' | 'lastChange'> {
  const dataPlane = /^tidegate_router_data_plane\{name="(\w+)"\} 1$/m.exec(text)?.[1];
  // Older routers have no label. The name of an object has no characters that need an escape.
  const times = text.matchAll(
    /^tidegate_router_last_change_timestamp_seconds(?:\{router="(.*)"\})? (\S+)$/gm,
  );
  const seconds = Number([...times].find(([, label]) => label === undefined || label === router)?.[2] ?? 0);
  return {
    ...(dataPlane !== undefined && { dataPlane }),
    ...(seconds > 0 && { lastChange: new Date(seconds * 1000).toISOString() }),
  };
}

/** Queries the routers of a front door, and what answers at its URLs. */
export async function queryFrontDoor(door: FrontDoor, pods: readonly Pod[]): Promise<FrontDoorReport> {
  if (door.elsewhere !== undefined) return { ...door, routers: [], answers: [] };
  const [routers, answers, sample] = await Promise.all([
    queryRouters(door, pods),
    Promise.all(door.urls.map((url) => whoAnswers(url, door.identity))),
    sampleAnswer(door),
  ]);
  return { ...door, routers, answers, ...(sample !== undefined && { sample }) };
}

/** Sends the sample request of a front door. */
export async function sampleAnswer(door: FrontDoor): Promise<SampleAnswer | undefined> {
  const target = sampleRequest(door);
  const answer = target && (await httpGet(target.url, target.host));
  return answer && { host: target.host, status: answer.status };
}
