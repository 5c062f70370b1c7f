import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Inside } from '../contracts.ts';
import { signalOne } from '../proc/index.ts';

/** How a command in a container ended. */
export interface Ran {
  /** As in a shell: 128 plus the number of a signal. */
  code: number;
  /** The beginning of what it wrote. */
  output: string;
  timedOut: boolean;
}

/** The kubelet reads as much of the output of a probe. */
const MAX_OUTPUT_BYTES = 10 * 1024;
/** How long to read the output of a command that has ended. */
const OUTPUT_MS = 1_000;

/** Runs a command of a probe or hook to its end, or kills it with all its children after the timeout. */
export function runInside(
  inside: Inside,
  words: string[],
  { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal },
): Promise<Ran> {
  const { command, env, cwd } = inside.run(words);
  const [program = '', ...args] = command;
  return new Promise((resolve) => {
    const child = spawn(program, args, { env, cwd, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    let size = 0;
    let timedOut = false;
    const kill = (): void => {
      if (child.pid !== undefined) signalOne(-child.pid, 'SIGKILL');
    };
    const deadline = setTimeout(() => {
      timedOut = true;
      kill();
    }, timeoutMs);
    signal?.addEventListener('abort', kill, { once: true });
    const end = (code: number, problem = ''): void => {
      clearTimeout(deadline);
      signal?.removeEventListener('abort', kill);
      const output = Buffer.concat(pieces).subarray(0, MAX_OUTPUT_BYTES).toString();
      resolve({ code, output: output + problem, timedOut });
    };
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (piece: Buffer) => {
        if (size < MAX_OUTPUT_BYTES) pieces.push(piece);
        size += piece.length;
      });
    }
    child.once('error', (error) => end(127, error.message));
    let hurry: NodeJS.Timeout | undefined;
    // A background process may hold the output open. It belongs to the container, so its end does not matter.
    child.once('exit', () => {
      hurry = setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, OUTPUT_MS);
    });
    child.once('close', (code, name) => {
      clearTimeout(hurry);
      end(code ?? 128 + constants.signals[name!]);
    });
    if (signal?.aborted === true) kill();
  });
}
