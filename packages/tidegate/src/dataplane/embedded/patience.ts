import { breakOff } from './answer.ts';
import type { Exchange } from './exchange.ts';

/** How long a client may take nothing of an answer that waits for it. */
const PATIENCE_MS = 60_000;

export interface Pausable {
  pause(): void;
  resume(): void;
}

/** Writes, and holds the source back while the client does not keep up. One that never does is left. */
export function writeWithPatience(exchange: Exchange, chunk: Buffer, source: Pausable): void {
  const { response } = exchange;
  exchange.sentBytes += chunk.length;
  if (write(exchange, chunk)) return;
  source.pause();
  const timer = setTimeout(() => breakOff(exchange), PATIENCE_MS);
  const goOn = (): void => {
    clearTimeout(timer);
    response.off('drain', goOn);
    response.off('close', goOn);
    source.resume();
  };
  response.once('drain', goOn);
  response.once('close', goOn);
}

/** The two kinds of responses have no signature in common. */
const write = ({ response }: Exchange, chunk: Buffer): boolean =>
  'stream' in response ? response.write(chunk) : response.write(chunk);
