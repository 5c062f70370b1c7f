/**
 * What the hub tells about itself, to whoever may reach its admin port: no token, key or object is ever in it.
 *
 *   GET /v1/healthz, /v1/readyz   as text, for supervisors and probes; not ready says why, a reason a line
 *   GET /metrics                  for Prometheus
 *   GET /v1/<page>                JSON; a table with `?output=text`, or for who accepts text/plain only
 */
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { type Logger, type Metrics, textTable } from '@tidegate/kube';

/** One line of a page. Plain values only, so that nothing slips in by being part of something larger. */
export type AdminRow = Readonly<Record<string, string | number | boolean | undefined>>;

export interface AdminView {
  health(): { ready: boolean; reasons: readonly string[] };
  metrics: Pick<Metrics, 'scrape' | 'contentType'>;
  /** Whose and of what, how current, how large, and how many read it. */
  views(): readonly AdminRow[];
  /** In their order, and for which components each is. */
  filters(): readonly AdminRow[];
  /** Writes that wait for the link. */
  journal(): readonly AdminRow[];
  /** The API servers, and which of them answer. */
  upstreams(): readonly AdminRow[];
}

const PAGES = ['views', 'filters', 'journal', 'upstreams'] as const;
const PATHS = ['/v1/healthz', '/v1/readyz', '/metrics', ...PAGES.map((page) => `/v1/${page}`)];

export function adminHandler(view: AdminView, log: Logger): RequestListener {
  return (request, response) => {
    answer(view, request, response).catch((err: unknown) => {
      log.error({ err, path: request.url }, 'a request to the admin port failed');
      if (response.headersSent) response.destroy();
      else sendText(response, 500, 'failed; the log says why');
    });
  };
}

async function answer(view: AdminView, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://hub');
  if (!PATHS.includes(pathname)) return sendText(response, 404, `there is ${PATHS.join(', ')}`);
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    response.setHeader('allow', 'GET, HEAD');
    return sendText(response, 405, `${request.method} is not possible here`);
  }
  if (pathname === '/v1/healthz') return sendText(response, 200, 'ok');
  if (pathname === '/v1/readyz') return sendReadiness(response, view.health());
  if (pathname === '/metrics')
    return send(response, 200, view.metrics.contentType, await view.metrics.scrape());
  const rows = view[pathname.slice('/v1/'.length) as (typeof PAGES)[number]]();
  if (wantsText(request, searchParams)) return sendText(response, 200, tableOf(rows));
  send(response, 200, 'application/json', `${JSON.stringify(rows, undefined, 2)}\n`);
}

function sendReadiness(response: ServerResponse, { ready, reasons }: ReturnType<AdminView['health']>): void {
  sendText(response, ready ? 200 : 503, ready ? 'ok' : ['not ready', ...reasons].join('\n'));
}

function wantsText({ headers }: IncomingMessage, query: URLSearchParams): boolean {
  const output = query.get('output');
  return output === null ? /^text\/plain\b/.test(headers.accept ?? '') : output === 'text';
}

/** The columns are those of all rows: not every row has every value. */
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
