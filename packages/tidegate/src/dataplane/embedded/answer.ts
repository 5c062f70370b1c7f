import { STATUS_CODES } from 'node:http';
import { ANSWER_HEADERS, answerBody, COOKIE_STATUSES, SERVER } from '../answers.ts';
import type { Exchange } from './exchange.ts';
import type { FlatHeaders } from './flat-headers.ts';
import { toLines, toObject, withAdded, withVary } from './headers.ts';

/** Sends a response that does not come from an endpoint; see `answers.ts`. */
export function answer(exchange: Exchange, status: number, more: FlatHeaders = []): void {
  const text = status === 204 ? '' : answerBody(status);
  writeHead(exchange, status, [...(status === 204 ? ['Server', SERVER] : answerHeaders(text)), ...more]);
  exchange.sentBytes += text.length;
  exchange.response.end(exchange.method === 'HEAD' ? '' : text);
}

/** The same response as bytes, for a connection on which Node.js provides no response object. It closes the connection. */
export function rawAnswer(status: number): string {
  const text = answerBody(status);
  const headers = toLines([...answerHeaders(text), 'Connection', 'close']);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${headers}\r\n${text}`;
}

const answerHeaders = (text: string): FlatHeaders => [
  ...Object.entries(ANSWER_HEADERS).flat(),
  'Content-Length',
  String(text.length),
];

/** The responses of HTTP/1.1 and HTTP/2 have different signatures. */
export function writeHead(exchange: Exchange, status: number, headers: FlatHeaders): void {
  const { response } = exchange;
  exchange.status = status;
  // The client was not asked for its body, and may send it or not: where the next request begins is in doubt.
  if (exchange.awaitsContinue && !('stream' in response)) response.shouldKeepAlive = false;
  const varied = exchange.variesByOrigin ? withVary(headers) : headers;
  const changed = exchange.added === undefined ? varied : withAdded(varied, exchange.added);
  const cookies = [
    ...authCookies(exchange, status),
    ...(exchange.cookie === undefined ? [] : [exchange.cookie]),
  ];
  const all =
    cookies.length === 0 ? changed : [...changed, ...cookies.flatMap((each) => ['Set-Cookie', each])];
  if ('stream' in response) response.writeHead(status, toObject(all));
  else response.writeHead(status, all);
}

/** Cookies of the server that has authenticated the client. As in nginx, errors get them only if an annotation says so. */
const authCookies = ({ authCookies: own }: Exchange, status: number): readonly string[] =>
  own !== undefined && (own.always || COOKIE_STATUSES.has(status)) ? own.cookies : [];

/** Sends the headers before the body arrives. Node.js does this for HTTP/2 by itself. */
export function flushHead({ response, sentBytes }: Exchange): void {
  if (sentBytes === 0 && !response.writableEnded && !('stream' in response)) response.flushHeaders();
}

/** Ends the response in a way that tells the client that it is incomplete. */
export function breakOff({ response }: Exchange): void {
  if ('stream' in response) response.stream.close(INTERNAL_ERROR);
  else response.destroy();
}

const INTERNAL_ERROR = 2;
