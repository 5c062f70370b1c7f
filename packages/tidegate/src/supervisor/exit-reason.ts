/** Why a process exited. `output` returns what it printed. */
export function exitReason(code: number | null, signal: NodeJS.Signals | null, output: () => string): string {
  // V8 prints why before it aborts, for example when the heap is full.
  if (signal === 'SIGABRT') {
    const fatal = /^(?:FATAL ERROR|# {2}Fatal error|# Fatal error).*$/m.exec(output())?.[0];
    if (fatal !== undefined) return fatal;
  }
  if (signal !== null) return `killed by ${signal}`;
  return lastLine(output()) ?? `exited with code ${code}`;
}

/** The last line that a process printed, without decoration: most often the reason why it exited. */
export function lastLine(output: string): string | undefined {
  // Skip the indented frames below the message of a stack trace, and the hint in parentheses below a usage error.
  const lines = output.split('\n').filter((line) => line !== '' && !/^[\s}(]|^Node\.js v/.test(line));
  const line = lines.at(-1);
  return line === undefined
    ? undefined
    : words(line)
        .replace(/^tidegate: (Error: )?/, '')
        .replace(/\.$/, '');
}

/** The message of a structured (JSON) log line; any other line is returned as it is. */
function words(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: unknown; err?: { message?: unknown } };
    const parts = [msg, err?.message].filter((part) => typeof part === 'string');
    return parts.length === 0 ? line : parts.join(': ');
  } catch {
    return line.trim();
  }
}
