/** One check of a container from outside: an HTTP request or a TCP connection. */
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { connect } from 'node:net';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import type { Container } from '../contracts.ts';

/** The result of one attempt of a probe. */
export interface CheckOutcome {
  ok: boolean;
  /** The text after "probe failed: " in the event. */
  output: string;
}

type Handler = Pick<core.Probe, 'httpGet' | 'tcpSocket' | 'grpc' | 'exec'>;

/** Commands would have to run inside the container, which is not supported. */
export const isRunInside = (handler: Handler): boolean => handler.exec !== undefined;

/** Runs one check. Every problem becomes a failed outcome; the promise never rejects. */
export async function check(
  handler: Handler,
  container: Container,
  podIP: string,
  timeoutMs: number,
): Promise<CheckOutcome> {
  const { httpGet, tcpSocket, grpc } = handler;
  try {
    if (httpGet !== undefined) {
      const port = portNumber(httpGet.port, container);
      return await get(httpGet, { host: httpGet.host ?? podIP, port, timeoutMs });
    }
    if (tcpSocket !== undefined) {
      const port = portNumber(tcpSocket.port, container);
      return await dial({ host: tcpSocket.host ?? podIP, port, timeoutMs });
    }
    if (grpc !== undefined) return await dial({ host: podIP, port: grpc.port, timeoutMs });
    return { ok: true, output: '' };
  } catch (error) {
    return { ok: false, output: error instanceof Error ? error.message : String(error) };
  }
}

/** The number of a port; it may be given by its name in the container. */
export function portNumber(port: number | string, container: Container): number {
  const number = typeof port === 'number' ? port : Number(port);
  if (Number.isInteger(number)) return number;
  const named = container.ports?.find(({ name }) => name === port);
  if (named === undefined) throw new Error(`couldn't find port: ${JSON.stringify(port)}`);
  return named.containerPort;
}

interface Where {
  host: string;
  port: number;
  timeoutMs: number;
}

function get(action: core.HTTPGetAction, { host, port, timeoutMs }: Where): Promise<CheckOutcome> {
  const scheme = (action.scheme ?? 'HTTP').toLowerCase();
  const path = action.path?.startsWith('/') === false ? `/${action.path}` : (action.path ?? '/');
  const url = `${scheme}://${host}:${port}${path}`;
  const send = scheme === 'https' ? httpsRequest : httpRequest;
  return new Promise((resolve) => {
    const end = (ok: boolean, output: string): void => {
      clearTimeout(deadline);
      request.destroy();
      resolve({ ok, output });
    };
    // The kubelet does not verify either: the certificate is for the name of the service, not for the pod's address.
    const request = send(url, { headers: headersOf(action), agent: false, rejectUnauthorized: false });
    const deadline = setTimeout(
      () => end(false, `Get ${JSON.stringify(url)}: context deadline exceeded`),
      timeoutMs,
    );
    request.on('response', ({ statusCode = 0 }) => {
      const ok = statusCode >= 200 && statusCode < 400;
      end(ok, ok ? '' : `HTTP probe failed with statuscode: ${statusCode}`);
    });
    request.on('error', (error) => end(false, `Get ${JSON.stringify(url)}: ${reasonOf(error, host, port)}`));
    request.end();
  });
}

/** Repeated headers are sent as several values, except Host, where the last one wins. */
function headersOf({ httpHeaders = [] }: core.HTTPGetAction): Record<string, string | string[]> {
  const headers: Record<string, string | string[]> = { 'user-agent': 'kube-probe/1.36', accept: '*/*' };
  for (const { name, value } of httpHeaders) {
    const key = name.toLowerCase();
    const given = httpHeaders.filter((header) => header.name.toLowerCase() === key);
    headers[key] = given.length === 1 || key === 'host' ? value : given.map((header) => header.value);
  }
  return headers;
}

function dial({ host, port, timeoutMs }: Where): Promise<CheckOutcome> {
  return new Promise((resolve) => {
    const end = (ok: boolean, output: string): void => {
      clearTimeout(deadline);
      socket.destroy();
      resolve({ ok, output });
    };
    const socket = connect({ host, port });
    const deadline = setTimeout(() => end(false, `dial tcp ${host}:${port}: i/o timeout`), timeoutMs);
    socket.on('connect', () => end(true, ''));
    socket.on('error', (error) => end(false, reasonOf(error, host, port)));
  });
}

function reasonOf(error: NodeJS.ErrnoException, host: string, port: number): string {
  return error.code === 'ECONNREFUSED'
    ? `dial tcp ${host}:${port}: connect: connection refused`
    : error.message;
}
