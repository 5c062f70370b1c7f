/**
 * Health, metrics and debugging pages of the hub, for every client that can connect to the admin port. The pages never
 * contain tokens, keys or objects.
 *
 *   GET /v1/healthz, /v1/readyz   text, for supervisors and probes; if not ready, one reason per line, and one line for
 *                                 each thing that does not work although the hub is ready
 *   GET /metrics                  for Prometheus
 *   GET /v1/<page>                JSON, or a table with `?output=text` or `Accept: text/plain`
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Logger, type Metrics, textTable } from '@tidegate/kube';

/**
 * One row of a page. Only plain values are allowed, so that nested data, for example an object, cannot leak.
 */
export type AdminRow = Readonly<Record<string, string | number | boolean | undefined>>;

/** Where the pages get their content from. */
export interface AdminSource {
  health(): { ready: boolean; reasons: readonly string[]; warnings: readonly string[] };
  metrics: Pick<Metrics, 'scrape' | 'contentType'>;
  /** Stored views: identity, resource, state, size, and number of readers. */
  views(): readonly AdminRow[];
  /** Filters in the order in which they are applied, with the components of each. */
  filters(): readonly AdminRow[];
  /** Writes in the journal. */
  journal(): readonly AdminRow[];
  /** API servers and their health. */
  upstreams(): readonly AdminRow[];
}

const PAGES = ['views', 'filters', 'journal', 'upstreams'] as const;
const PATHS = ['/v1/healthz', '/v1/readyz', '/metrics', ...PAGES.map((page) => `/v1/${page}`)];

/** The request listener of the admin port. */
export function adminHandler(source: AdminSource, log: Logger): RequestListener {
  return (request, response) => {
    answer(source, request, response).catch((err: unknown) => {
      log.error({ err, path: request.url }, 'request to the admin port failed');
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'internal server error; see the log of the hub');
    });
  };
}

async function answer(
  source: AdminSource,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://hub');
  if (!PATHS.includes(pathname))
    return sendText(response, 404, `not found; available paths: ${PATHS.join(', ')}`);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return sendText(response, 405, `method ${request.method} is not allowed; use GET`);
  }
  if (pathname === '/v1/healthz') return sendText(response, 200, 'ok');
  if (pathname === '/v1/readyz') return sendReadiness(response, source.health());
  if (pathname === '/metrics')
    return send(response, 200, source.metrics.contentType, await source.metrics.scrape());
  const rows = source[pathname.slice('/v1/'.length) as (typeof PAGES)[number]]();
  if (wantsText(request, searchParams)) return sendText(response, 200, tableOf(rows));
  send(response, 200, 'application/json', `${JSON.stringify(rows, undefined, 2)}\n`);
}

function sendReadiness(
  response: ServerResponse,
  { ready, reasons, warnings }: ReturnType<AdminSource['health']>,
): void {
  const lines = [...reasons, ...warnings.map((warning) => `warning: ${warning}`)];
  sendText(response, ready ? 200 : 503, [ready ? 'ok' : 'not ready', ...lines].join('\n'));
}

function wantsText({ headers }: IncomingMessage, query: URLSearchParams): boolean {
  const output = query.get('output');
  return output === null ? /^text\/plain\b/.test(headers.accept ?? '') : output === 'text';
}

/** The columns of the table are the union of the fields of all rows. Rows can lack fields. */
function tableOf(rows: readonly AdminRow[]): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  if (columns.length === 0) return 'none';
  return textTable([
    columns.map(heading),
    ...rows.map((row) => columns.map((column) => String(row[column] ?? '-') || '-')),
  ]);
}

/** `resourceVersion` becomes `RESOURCE VERSION`. */
const heading = (column: string): string => column.replaceAll(/(?=[A-Z])/g, ' ').toUpperCase();

const sendText = (response: ServerResponse, code: number, text: string): void =>
  send(response, code, 'text/plain; charset=utf-8', `${text}\n`);

function send(response: ServerResponse, code: number, type: string, body: string): void {
  response.writeHead(code, { 'content-type': type, 'cache-control': 'no-store' }).end(body);
}
