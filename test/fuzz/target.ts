import { createConnection } from 'node:net';
import type { HostileRequest } from './grammar.ts';
import type { Meaning } from './reference.ts';

/**
 * A component under test, with a server behind it that records what it receives. To add one, for example a router with a
 * data plane, implement this and add it to `main.ts` and `fuzz.test.ts`.
 */
export interface FuzzTarget {
  readonly name: string;
  readonly port: number;
  /** Tokens that clients may present. */
  readonly tokens: readonly string[];
  /** What the server behind has received with this id in the header X-Fuzz, in order. */
  received(id: string): readonly Meaning[];
  /**
   * Whether the component may answer a request with this meaning itself. Otherwise the server behind must receive it.
   */
  mayAnswer(meaning: Meaning): boolean;
  stop(): Promise<void>;
}

/** Longer than any answer takes. Reached only if the component waits for a body that never ends. */
const CEILING_MS = 10_000;

/**
 * Sends a request over a new connection, and directly after it a plain one that asks to close the connection: a component
 * that has lost its place in the stream would execute something else. Resolves to everything that came back.
 */
export function exchange(port: number, bytes: Buffer): Promise<string> {
  const last = 'GET /healthz HTTP/1.1\r\nHost: hub\r\nX-Fuzz: last\r\nConnection: close\r\n\r\n';
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    let answer = '';
    socket.setEncoding('latin1');
    socket.setTimeout(CEILING_MS, () => socket.destroy());
    socket.on('connect', () => socket.write(Buffer.concat([bytes, Buffer.from(last)])));
    socket.on('data', (chunk: string) => {
      answer += chunk;
    });
    socket.on('error', () => {}); // A refusal may reset the connection; 'close' follows.
    socket.on('close', () => resolve(answer));
  });
}

/** Why the component has understood the request differently than the reference; undefined if it has not. */
export function difference(
  target: FuzzTarget,
  request: HostileRequest,
  meaning: Meaning | undefined,
  answer: string,
): string | undefined {
  const received = target.received(request.id);
  const hidden = target.received(`hidden-${request.id}`);
  if (hidden.length > 0) return 'a request that was hidden in the body was executed';
  if (meaning === undefined) {
    if (received.length > 0) return `an ambiguous request was forwarded as ${JSON.stringify(received)}`;
    return /^HTTP\/1\.1 4\d\d |^$/.test(answer)
      ? undefined
      : `an ambiguous request was answered with ${answer.slice(0, 80)}`;
  }
  if (received.length === 0)
    return target.mayAnswer(meaning)
      ? undefined
      : `a plain request was not forwarded, but answered with ${answer.slice(0, 400)}`;
  const [first] = received;
  const same = received.length === 1 && JSON.stringify(first) === JSON.stringify(meaning);
  return same ? undefined : `forwarded as ${JSON.stringify(received)}, expected ${JSON.stringify(meaning)}`;
}
