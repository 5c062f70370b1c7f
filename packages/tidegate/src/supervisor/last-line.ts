/** What a process said last, in words for people: most often the reason why it ended. */
export function lastLine(output: string): string | undefined {
  // Below the message of a stack trace stand its frames, indented; below that of a wrong option stands a hint.
  const lines = output.split('\n').filter((line) => line !== '' && !/^[\s}(]|^Node\.js v/.test(line));
  const line = lines.at(-1);
  return line === undefined
    ? undefined
    : words(line)
        .replace(/^tidegate: (Error: )?/, '')
        .replace(/\.$/, '');
}

/** A line of a structured log has its sentence in a field. */
function words(line: string): string {
  try {
    const { msg, err } = JSON.parse(line) as { msg?: unknown; err?: { message?: unknown } };
    const parts = [msg, err?.message].filter((part) => typeof part === 'string');
    return parts.length === 0 ? line : parts.join(': ');
  } catch {
    return line.trim();
  }
}
