import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readFields } from '../openapi/testing.ts';
import { ProtobufWriter } from './writer.ts';

const written = (write: (to: ProtobufWriter) => void): Buffer => {
  const to = new ProtobufWriter();
  write(to);
  return to.finish();
};

describe('ProtobufWriter', () => {
  it('writes the examples of the protobuf specification', () => {
    expect(written((to) => to.integer(1, 150)).toString('hex')).toBe('089601');
    expect(written((to) => to.text(2, 'testing')).toString('hex')).toBe('120774657374696e67');
    expect(written((to) => to.message(3, () => to.integer(1, 150))).toString('hex')).toBe('1a03089601');
    expect(written((to) => to.integer(1, -2)).toString('hex')).toBe('08feffffffffffffffff01');
  });

  it('writes strings of any length and grows its buffer', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200_000), { maxLength: 5 }), (lengths) => {
        const bytes = written((to) => {
          for (const length of lengths.toReversed()) to.text(length % 40, 'é'.repeat(length));
        });
        expect(readFields(bytes).map((f) => [f.number, f.bytes.length])).toEqual(
          lengths.map((length) => [length % 40, 2 * length]),
        );
      }),
      { numRuns: 20 },
    );
  });

  it('writes numbers', () => {
    fc.assert(
      fc.property(fc.maxSafeInteger(), fc.double({ noNaN: true }), (integer, double) => {
        const [first, second] = readFields(
          written((to) => {
            to.double(2, double);
            to.integer(1, integer);
          }),
        );
        expect(first?.scalar).toBe(integer);
        expect(second?.scalar).toBe(double);
      }),
    );
  });
});
