/** Forwards the response of a kubelet to the client. */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ApiError, badRequest, type Exchange, internalError } from '@tidegate/serving';

/** At most this much of an error message is read. */
const LONGEST_MESSAGE = 50_000;

/** Ends when either side ends. If one side breaks off, the other is broken off as well, so that it does not look complete. */
export async function relayBody(
  answer: IncomingMessage,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  const { response } = exchange;
  // A client that follows a silent log needs the headers to know that the stream has started.
  response.flushHeaders();
  try {
    await pipeline(answer, response, { signal });
  } catch {
    // The headers are sent already, so the error can only be reported by closing the connection.
    response.destroy();
  }
}

export const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean =>
  statusCode >= 200 && statusCode < 300;

export async function failureText(answer: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of answer.setEncoding('utf8')) {
    text += chunk;
    if (text.length > LONGEST_MESSAGE) break;
  }
  return text.slice(0, LONGEST_MESSAGE).trim();
}

/** The error of a kubelet that cannot provide a log. */
export async function logFailure(answer: IncomingMessage, pod: string): Promise<ApiError> {
  const code = answer.statusCode ?? 500;
  const text = await failureText(answer);
  if (code === 400) return badRequest(text);
  if (code === 500) return internalError(text);
  const details = { name: pod, kind: 'pods/log' };
  if (code === 404) {
    const message = `the server could not find the requested resource ( pods/log ${pod})`;
    return new ApiError(404, 'NotFound', message, details);
  }
  const message = `an error on the server (${JSON.stringify(text)}) has prevented the request from succeeding ( pods/log ${pod})`;
  return new ApiError(code, code > 500 ? 'InternalError' : '', message, details);
}
