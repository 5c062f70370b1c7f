import { setMaxListeners } from 'node:events';
import { dirname, join } from 'node:path';
import { diskFailure, isDiskErrno } from '@tidegate/disk';

/** An error that the user can fix. Only the message is printed, without a stack trace. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Resolves on the first SIGINT or SIGTERM. A second signal exits immediately. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    // A child process of `tidegate up` stops when its parent exits, even if the parent crashed.
    process.once('disconnect', resolve);
    // It also checks at intervals that the event loop of the child still turns.
    process.on('message', (message) => {
      if (message === 'ping') process.send?.('pong');
    });
    // Neither listener keeps a process alive that has nothing else to do.
    process.channel?.unref();
    let isStopping = false;
    const stop = (): void => {
      if (isStopping) process.exit(130);
      isStopping = true;
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}

/** Is aborted on the first SIGINT or SIGTERM. Many requests at the same time can listen to it. */
export function stopSignal(): AbortSignal {
  const stop = new AbortController();
  setMaxListeners(0, stop.signal);
  void untilStopped().then(() => stop.abort());
  return stop.signal;
}

/** Prints the error and sets exit status 1. The stack trace is printed for unexpected errors only. */
export function fail(error: unknown, listener?: Listener): void {
  const text = explain(error, listener);
  console.error(`tidegate: ${text}`);
  // The supervisor of `tidegate up` repeats it, also if the log of this process cannot be written.
  if (process.connected) process.send?.({ failure: text.split('\n')[0] });
  process.exitCode = 1;
}

/** Where the command listens, for commands with a single listener and the flag `--port`. */
interface Listener {
  port: number;
  address: string;
  /** The flag that sets the address. Default: `--bind-address`. */
  addressFlag?: string;
}

/**
 * Errors with a name of their own, for example CommandError, have a message for users. A plain Error or TypeError is
 * a bug, so its stack trace is printed.
 */
function explain(error: unknown, listener: Listener | undefined): string {
  if (!(error instanceof Error)) return String(error);
  const message = listener === undefined ? undefined : listenError(error, listener);
  if (message !== undefined) return message;
  if (isDiskErrno(error)) return diskFailure(dirname(pathOf(error)), error).message;
  return error.name === 'Error' || error.name === 'TypeError'
    ? (error.stack ?? error.message)
    : error.message;
}

/** Errors of a write do not name the file. */
const pathOf = (error: NodeJS.ErrnoException): string => error.path ?? join(process.cwd(), 'file');

function listenError(
  error: NodeJS.ErrnoException,
  { port, address, addressFlag = '--bind-address' }: Listener,
): string | undefined {
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${address} is already in use; choose another with --port (0 selects a free port)`;
    case 'EADDRNOTAVAIL':
      return `${address} is not an address of this host; choose another with ${addressFlag}`;
    case 'EACCES':
      return `permission denied: ${error.message}; choose a port above 1023, or a state directory that you can write to`;
    default:
      return undefined;
  }
}
