import { nginxAnswer } from '../model/nginx-answer.ts';
import { keyOfRequest, type TestRequest } from '../requests.ts';
import type { Models } from './models.ts';

/** One line of an access log. */
export interface LogLine {
  readonly method: string;
  readonly target: string;
  /** `namespace-service-port`, only in the default format of ingress-nginx. */
  readonly upstream?: string;
}

/**
 * nginx's combined format, and the default format of ingress-nginx, which continues with the length and time of the request and
 * the names of upstreams in brackets. nginx writes unusual bytes as \xHH.
 */
const LINE =
  /^\S+ - .*? \[[^\]]+\] "([A-Z]+) (\S+)(?: HTTP\/[\d.]+)?" \d{3} \d+ "(?:[^"\\]|\\.)*" "(?:[^"\\]|\\.)*"(?: \d+ [\d.]+ \[([^\]]*)\] \[[^\]]*\].*)?$/;

/** Undefined if the line has another format, or no valid request. */
export function readLogLine(line: string): LogLine | undefined {
  const [, method, target, upstream] = LINE.exec(line.trim()) ?? [];
  if (method === undefined || target === undefined || !target.startsWith('/')) return undefined;
  const isNamed = upstream !== undefined && upstream !== '' && upstream !== '-';
  return { method, target, ...(isNamed && { upstream }) };
}

interface LogContext {
  readonly models: Models;
  /** The host of lines that do not show which host they are for. */
  readonly host?: string | undefined;
  readonly methods: readonly string[];
}

/** The requests of a log, and what was left out. */
export interface LogRequests {
  readonly requests: readonly TestRequest[];
  readonly lines: number;
  /** Lines of another format. */
  readonly unreadable: number;
  /** Lines with a method that is not sent. */
  readonly otherMethods: number;
  /** Lines for which no host is known. */
  readonly withoutHost: number;
}

/**
 * Neither format has the host. The upstream of a line shows it: it is sent for each host whose rules lead this path to the same
 * Service. Equal requests are sent once.
 */
export function requestsOfLog(lines: Iterable<string>, context: LogContext): LogRequests {
  const found = new Map<string, TestRequest>();
  const counts = { lines: 0, unreadable: 0, otherMethods: 0, withoutHost: 0 };
  for (const text of lines) {
    if (text.trim() === '') continue;
    counts.lines++;
    const line = readLogLine(text);
    if (line === undefined) counts.unreadable++;
    else if (!context.methods.includes(line.method)) counts.otherMethods++;
    else {
      const requests = requestsOfLine(line, context);
      if (requests.length === 0) counts.withoutHost++;
      for (const each of requests) found.set(keyOfRequest(each), each);
    }
  }
  return { requests: [...found.values()], ...counts };
}

function requestsOfLine({ method, target, upstream }: LogLine, context: LogContext): TestRequest[] {
  const { models, host: only } = context;
  const { servers, settings } = models;
  const make = (host: string, secure: boolean): TestRequest => ({
    secure,
    host,
    target,
    method,
    headers: {},
    from: 'access log',
  });
  if (only !== undefined) return [make(only, servers.get(only)?.hasTls ?? false)];
  const named = [...servers.values()].filter(({ host }) => host !== '' && !host.startsWith('*'));
  if (upstream === undefined) {
    const [first, ...others] = named;
    return first !== undefined && others.length === 0 ? [make(first.host, first.hasTls)] : [];
  }
  return named
    .filter(({ host, hasTls }) => {
      const { answer } = nginxAnswer(servers, settings, { host, target, secure: hasTls });
      return answer.kind === 'backend' && upstreamOf(answer.backend) === upstream;
    })
    .map(({ host, hasTls }) => make(host, hasTls));
}

/** `namespace/service:port` as ingress-nginx names it. */
const upstreamOf = (backend: string): string => backend.replace('/', '-').replace(/:([^:]*)$/, '-$1');
