/** Something that the user can mend: its message is all they need to see. */
export class CommandError extends Error {
  override readonly name = 'CommandError';
}

/** Resolves on the first Ctrl-C or SIGTERM. A second one does not wait for a clean end. */
export function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    // A child of `tidegate up` ends with it, however that ended.
    process.once('disconnect', resolve);
    process.channel?.unref();
    let asked = false;
    const stop = (): void => {
      if (asked) process.exit(130);
      asked = true;
      resolve();
    };
    process.on('SIGINT', stop);
    process.on('SIGTERM', stop);
  });
}

/** Ends the command with one sentence that says what to do; a stack trace only for what nobody foresaw. */
export function fail(error: unknown, where?: Where): void {
  console.error(`tidegate: ${explain(error, where)}`);
  process.exitCode = 1;
}

/** Where a command listens, if it does. */
interface Where {
  port: number;
  address: string;
}

function explain(error: unknown, where: Where | undefined): string {
  if (!(error instanceof Error)) return String(error);
  const trouble = where === undefined ? undefined : listenTrouble(error, where);
  if (trouble !== undefined) return trouble;
  return error.name === 'Error' || error.name === 'TypeError'
    ? (error.stack ?? error.message)
    : error.message;
}

function listenTrouble(error: NodeJS.ErrnoException, { port, address }: Where): string | undefined {
  switch (error.code) {
    case 'EADDRINUSE':
      return `port ${port} on ${address} is in use by another program; choose another with --port (0 takes any free one).`;
    case 'EADDRNOTAVAIL':
      return `this machine has no address ${address}; choose another with --bind.`;
    case 'EACCES':
      return `not allowed: ${error.message}. Choose a port above 1023, or a data directory that you may write to.`;
    default:
      return undefined;
  }
}
