import { type ChildProcess, spawn } from 'node:child_process';
import { constants } from 'node:os';
import type { Writable } from 'node:stream';
import type { Inside } from '../../contracts.ts';
import { signalOne } from '../../proc/index.ts';
import type { Channels } from './channels.ts';
import { inTerminal, resizeTerminal } from './terminal.ts';

/** How often a size is set again until the terminal exists. */
const RESIZE_RETRY_MS = 100;
const RESIZE_TRIES = 20;

/** Runs a command in a container, connected to the streams of a client, and reports its exit code. */
export async function exec(inside: Inside, words: string[], channels: Channels, tty: boolean): Promise<void> {
  const { command, env, cwd } = inside.run(words);
  const [program = '', ...args] = tty ? inTerminal(command) : command;
  const child = spawn(program, args, {
    cwd,
    env: tty ? { TERM: 'xterm', ...env, SHELL: '/bin/sh' } : env,
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const kill = (): void => {
    if (child.pid !== undefined) signalOne(-child.pid, 'SIGKILL');
  };
  channels.left.addEventListener('abort', kill, { once: true });
  if (channels.left.aborted) kill();
  connect(child, channels, tty);
  // Processes that the command leaves behind belong to the container, and end with it.
  const status = await ended(child);
  channels.left.removeEventListener('abort', kill);
  await channels.finish(status);
}

function connect(child: ChildProcess, { stdin, stdout, stderr, onResize }: Channels, tty: boolean): void {
  // The command may end without reading its input.
  child.stdin!.on('error', () => {});
  if (stdin === undefined) child.stdin!.end();
  else stdin.pipe(child.stdin!);
  copy(child.stdout!, stdout);
  copy(child.stderr!, tty ? stdout : stderr);
  if (!tty) return;
  let size: Parameters<typeof resizeTerminal>[1] | undefined;
  onResize((wanted) => {
    size = wanted;
    resizeTerminal(child.pid ?? 0, wanted);
  });
  // The first size usually arrives before the terminal exists.
  let tries = 0;
  const again = setInterval(() => {
    if (size !== undefined) resizeTerminal(child.pid ?? 0, size);
    if (++tries >= RESIZE_TRIES || child.exitCode !== null) clearInterval(again);
  }, RESIZE_RETRY_MS);
  again.unref();
  child.once('exit', () => clearInterval(again));
}

/** Without a stream of the client, the output is read and dropped, so that the command never waits. */
function copy(output: NodeJS.ReadableStream, to: Writable | undefined): void {
  if (to === undefined) output.resume();
  else output.pipe(to, { end: false });
}

/** The Status of the end, with the exit code where client-go expects it. Resolves when all output is read. */
function ended(child: ChildProcess): Promise<object> {
  return new Promise((resolve) => {
    child.once('error', (error) =>
      resolve(failure(`error executing command in container: ${error.message}`)),
    );
    child.once('close', (code, signal) => {
      const exitCode = code ?? 128 + constants.signals[signal!];
      if (exitCode === 0) return resolve({ metadata: {}, status: 'Success' });
      resolve({
        ...failure(`command terminated with non-zero exit code: exit status ${exitCode}`),
        reason: 'NonZeroExitCode',
        details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
      });
    });
  });
}

const failure = (message: string): object => ({ metadata: {}, status: 'Failure', message });
