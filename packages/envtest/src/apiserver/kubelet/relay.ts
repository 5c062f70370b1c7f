/** Passes what a kubelet answers on to whoever asked. */
import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { ApiError, badRequest, type Exchange, internalError } from '@tidegate/serving';

/** Of a failure no more is read. */
const LONGEST_MESSAGE = 50_000;

/** Ends when either side does; a break in the middle breaks the other side too, so that nobody takes it for the end. */
export async function relayBody(
  answer: IncomingMessage,
  exchange: Exchange,
  signal: AbortSignal,
): Promise<void> {
  const { response } = exchange;
  // Whoever follows a log that is quiet wants to know that it has begun.
  response.flushHeaders();
  try {
    await pipeline(answer, response, { signal });
  } catch {
    // The head is out: all there is to say now was said by closing the connection.
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

/** What a kubelet says about a log that it can not give. */
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
