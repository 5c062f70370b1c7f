/** The lines of a stream of text, as they arrive. Empty lines are left out. */
export async function* linesOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  /** The parts of a line whose end has not arrived. */
  let parts: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const [first = '', ...others] = decoder.decode(value, { stream: true }).split('\n');
      parts.push(first);
      for (const start of others) {
        const line = parts.join('');
        parts = [start];
        if (line !== '') yield line;
      }
    }
  } finally {
    await reader.cancel();
  }
}
