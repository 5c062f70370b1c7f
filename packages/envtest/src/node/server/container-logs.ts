import type { ServerResponse } from 'node:http';
import type { Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import type { ContainerLogs, LogOptions, NodePods } from '../contracts.ts';
import { RequestError } from './request-error.ts';

/** `GET /containerLogs/{namespace}/{pod}/{container}`. Ends when the log ends or the client disconnects. */
export async function sendContainerLogs(
  { pods, logs }: { pods: NodePods; logs: ContainerLogs },
  [namespace = '', podName = '', container = '']: string[],
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const found = pods.find(namespace, podName);
  if (found === undefined) throw new RequestError(404, `pod ${JSON.stringify(podName)} does not exist`);
  const options = logOptionsOf(query);
  const which = whichLog(found.pod, container, query.get('previous') === 'true');
  const left = new AbortController();
  response.once('close', () => left.abort());
  response.writeHead(200, { 'content-type': 'text/plain', 'transfer-encoding': 'chunked' });
  response.flushHeaders();
  for await (const chunk of logs.read(found.place.container(container), which, options, left.signal)) {
    if (!response.write(chunk)) await drained(response, left.signal);
  }
  response.end();
}

function drained(response: ServerResponse, left: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    response.once('drain', resolve);
    if (left.aborted) resolve();
    left.addEventListener('abort', () => resolve(), { once: true });
  });
}

function logOptionsOf(query: URLSearchParams): LogOptions {
  const number = (name: string): number | undefined => {
    const text = query.get(name);
    if (text === null) return undefined;
    if (!/^\d+$/.test(text))
      throw new RequestError(400, `${name} must be a whole number, not ${JSON.stringify(text)}`);
    return Number(text);
  };
  const sinceTime = query.get('sinceTime') ?? undefined;
  if (sinceTime !== undefined && Number.isNaN(Date.parse(sinceTime))) {
    throw new RequestError(
      400,
      `sinceTime must be a time, for example 2026-01-02T15:04:05Z, not ${JSON.stringify(sinceTime)}`,
    );
  }
  return {
    follow: query.get('follow') === 'true',
    timestamps: query.get('timestamps') === 'true',
    tailLines: number('tailLines'),
    sinceSeconds: number('sinceSeconds'),
    limitBytes: number('limitBytes'),
    sinceTime,
  };
}

/** Which attempt to read; throws the kubelet's message when there is none. */
function whichLog(pod: Pod, container: string, previous: boolean): 'current' | 'previous' {
  const { containerStatuses = [], initContainerStatuses = [] } = pod.status ?? {};
  const status = [...initContainerStatuses, ...containerStatuses].find(({ name }) => name === container);
  const what = `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.metadata.name)}`;
  if (status === undefined) throw new RequestError(400, `${what} is not available`);
  const { state = {}, lastState = {} } = status;
  if (previous && lastState.terminated === undefined) {
    throw new RequestError(400, `previous terminated ${what} not found`);
  }
  if (state.running !== undefined || state.terminated !== undefined) return previous ? 'previous' : 'current';
  if (lastState.terminated === undefined) throw new RequestError(400, `${what} is ${waiting(state)}`);
  // The container will be restarted; the last attempt is the most recent log.
  return 'current';
}

function waiting({ waiting: details }: core.ContainerState): string {
  switch (details?.reason) {
    case 'ErrImagePull':
      return "waiting to start: image can't be pulled";
    case 'ImagePullBackOff':
      return 'waiting to start: trying and failing to pull image';
    default:
      return `waiting to start: ${details?.reason ?? 'no logs yet'}`;
  }
}
