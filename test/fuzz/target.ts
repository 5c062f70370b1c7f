import { createConnection } from 'node:net';
import type { Chance } from '../support/random.ts';

/**
 * A component under test, with a server behind it that records what it receives, and a grammar and a strict reference for
 * its requests. To add one, implement this and add it to `main.ts` and `fuzz.test.ts`.
 */
export interface FuzzTarget<R = unknown> {
  readonly name: string;
  /** Draws a request with this ID, by which the server behind recognizes it. */
  draw(chance: Chance, id: string): R;
  /** Smaller variants of a request, with another ID. */
  smaller(request: R, id: () => string): readonly R[];
  bytesOf(request: R): Buffer;
  /** Sends the request, and compares what the component has understood with the reference. */
  check(request: R): Promise<Verdict>;
  stop(): Promise<void>;
}

export interface Verdict {
  /** The reference has a meaning for the request: it is not ambiguous. */
  readonly plain: boolean;
  /** Why the component has understood the request differently than the reference; undefined if it has not. */
  readonly difference: string | undefined;
}

/** Longer than any answer takes. Reached only if the component waits for a body that never ends. */
const CEILING_MS = 10_000;

/** Sends bytes over a new connection. Resolves to everything that came back until the connection was closed. */
export function exchange(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    let answer = '';
    socket.setEncoding('latin1');
    socket.setTimeout(CEILING_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(bytes));
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', () => {}); // A refusal may reset the connection; 'close' follows.
    socket.on('close', () => resolve(answer));
  });
}
