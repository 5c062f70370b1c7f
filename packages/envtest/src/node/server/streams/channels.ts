/** The streams of `kubectl exec`, whatever protocol carries them. */
import type { Readable, Writable } from 'node:stream';

/** Which streams the client asks for. */
export interface Wanted {
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
  tty: boolean;
}

/** The size of the client's terminal, in characters. */
export interface TerminalSize {
  width: number;
  height: number;
}

/** One open session. */
export interface Channels {
  stdin?: Readable;
  stdout?: Writable;
  stderr?: Writable;
  /** Called for every new size of the terminal. */
  onResize(handler: (size: TerminalSize) => void): void;
  /** Sends the result, and closes the connection when everything is sent. */
  finish(status: object): Promise<void>;
  /** Aborted when the client disconnects. */
  left: AbortSignal;
}

/** A message of the resize channel: `{"Width":80,"Height":24}`. Others are ignored. */
export function parseSize(text: string): TerminalSize | undefined {
  try {
    const { Width: width, Height: height } = JSON.parse(text) as { Width?: unknown; Height?: unknown };
    const isSize = (value: unknown): value is number => Number.isInteger(value) && (value as number) > 0;
    return isSize(width) && isSize(height) ? { width, height } : undefined;
  } catch {
    return undefined;
  }
}
