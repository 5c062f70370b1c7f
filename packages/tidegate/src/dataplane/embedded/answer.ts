import type { Exchange } from './exchange.ts';
import { type FlatHeaders, SERVER, toObject } from './headers.ts';

const TEXTS: Record<number, string> = {
  400: 'bad request',
  404: 'not found',
  405: 'method not allowed',
  408: 'request timeout',
  413: 'request body too large',
  500: 'internal server error',
  501: 'not implemented',
  502: 'bad gateway',
  503: 'service unavailable',
  504: 'gateway timeout',
  505: 'HTTP version not supported',
};

/** An answer of our own. It names nothing of what is behind. */
export function answer(exchange: Exchange, status: number, more: FlatHeaders = []): void {
  const text = `${TEXTS[status] ?? ''}\n`;
  writeHead(exchange, status, [
    ...['Content-Type', 'text/plain; charset=utf-8', 'Content-Length', String(text.length)],
    ...['Server', SERVER, 'X-Content-Type-Options', 'nosniff'],
    ...more,
  ]);
  exchange.sentBytes += text.length;
  exchange.response.end(exchange.method === 'HEAD' ? '' : text);
}

/** The two kinds of responses have no signature in common. */
export function writeHead(exchange: Exchange, status: number, headers: FlatHeaders): void {
  const { response } = exchange;
  exchange.status = status;
  if ('stream' in response) response.writeHead(status, toObject(headers));
  else response.writeHead(status, headers);
}

/** HTTP/2 sends it without being told. */
export function flushHead({ response, sentBytes }: Exchange): void {
  if (sentBytes === 0 && !response.writableEnded && !('stream' in response)) response.flushHeaders();
}

/** The client has to see that it is not all. */
export function breakOff({ response }: Exchange): void {
  if ('stream' in response) response.stream.close(INTERNAL_ERROR);
  else response.destroy();
}

const INTERNAL_ERROR = 2;
