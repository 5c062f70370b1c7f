import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { bodyLimit, RequestBody } from './body.ts';

describe('bodyLimit', () => {
  const GIB = 2 ** 30;

  it.each([
    ['a limit', 1000, undefined, 1000],
    ['no limit', 0, undefined, 0],
    ['a limit above 1 GiB and no length', 8 * GIB, undefined, GIB],
    ['a limit above 1 GiB and a length', 8 * GIB, `${2 * GIB}`, 8 * GIB],
  ])('is right with %s', (_, limit, length, expected) => {
    expect(bodyLimit(limit, length)).toBe(expected);
  });
});

describe('RequestBody', () => {
  it('reports that it is read before the first byte, and not before', async () => {
    const events: string[] = [];
    const source = Readable.from(
      (function* () {
        events.push('byte');
        yield Buffer.from('x');
      })(),
    );
    const body = new RequestBody(source, 0, () => events.push('read'));
    expect(events).toEqual([]);
    await body.keep();
    await body.keep();
    expect(events).toEqual(['read', 'byte']);
  });
});
