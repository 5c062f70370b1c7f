import { throttleMs } from '../../ingress/policy/index.ts';
import { CLIENT_STALL_MS } from '../limits.ts';
import { breakOff } from './answer.ts';
import type { Exchange } from './exchange.ts';

export interface Pausable {
  pause(): void;
  resume(): void;
}

/**
 * Writes to the client, and pauses the source while the client reads too slowly. If the client reads nothing for a while,
 * the response is aborted.
 */
export function writeWithPatience(exchange: Exchange, chunk: Buffer, source: Pausable): void {
  const { response } = exchange;
  exchange.sentBytes += chunk.length;
  if (!write(exchange, chunk)) {
    source.pause();
    const timer = setTimeout(() => breakOff(exchange), CLIENT_STALL_MS);
    const goOn = (): void => {
      clearTimeout(timer);
      response.off('drain', goOn);
      response.off('close', goOn);
      resumeInTime(exchange, source);
    };
    response.once('drain', goOn);
    response.once('close', goOn);
  } else if (waitOf(exchange) > 0) {
    source.pause();
    resumeInTime(exchange, source);
  }
}

const waitOf = ({ matched, sentBytes, began }: Exchange): number => {
  const throttle = matched?.action.policy?.throttle;
  return throttle === undefined ? 0 : throttleMs(throttle, sentBytes, performance.now() - began);
};

/** Resumes a source that is paused, as soon as the limit of the route allows it or the client has left. */
function resumeInTime(exchange: Exchange, source: Pausable): void {
  const wait = exchange.gone ? 0 : waitOf(exchange);
  if (wait <= 0) {
    source.resume();
    return;
  }
  const { response } = exchange;
  const goOn = (): void => {
    clearTimeout(timer);
    response.off('close', goOn);
    source.resume();
  };
  const timer = setTimeout(goOn, wait);
  response.once('close', goOn);
}

/** The responses of HTTP/1.1 and HTTP/2 have different signatures. */
const write = ({ response }: Exchange, chunk: Buffer): boolean =>
  'stream' in response ? response.write(chunk) : response.write(chunk);
