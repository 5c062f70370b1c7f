import { expect, it } from 'vitest';
import { linesOf } from './lines.ts';

async function linesIn(...parts: (string | Uint8Array)[]): Promise<string[]> {
  const bytes = parts.map((part) => (typeof part === 'string' ? new TextEncoder().encode(part) : part));
  const lines: string[] = [];
  for await (const line of linesOf(new Blob(bytes as BlobPart[]).stream())) lines.push(line);
  const slowly = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of bytes) controller.enqueue(part);
      controller.close();
    },
  });
  const again: string[] = [];
  for await (const line of linesOf(slowly)) again.push(line);
  expect(again).toEqual(lines);
  return lines;
}

it('joins what arrives in parts, also within a character', async () => {
  const [a, b] = [new TextEncoder().encode('é').slice(0, 1), new TextEncoder().encode('é').slice(1)];
  expect(await linesIn('o', 'ne\ntw', a, b, '\n')).toEqual(['one', 'twé']);
});

it('leaves out empty lines, and a last line that is not complete', async () => {
  expect(await linesIn('\n\none\n', '\n', 'tw')).toEqual(['one']);
});

it('stops the stream when its reader stops', async () => {
  let isCanceled = false;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new TextEncoder().encode('x\n')),
    cancel: () => {
      isCanceled = true;
    },
  });
  for await (const _line of linesOf(endless)) break;
  expect(isCanceled).toBe(true);
});
