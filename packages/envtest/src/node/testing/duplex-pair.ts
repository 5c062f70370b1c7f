import { Duplex } from 'node:stream';

/** Two ends of a connection in memory. */
export function duplexPair(): [Duplex, Duplex] {
  const end = (other: () => Duplex): Duplex =>
    new Duplex({
      read() {},
      write(data: Buffer, _encoding, done) {
        other().push(data);
        done();
      },
      final(done) {
        other().push(null);
        done();
      },
    });
  const ends: Duplex[] = [];
  const first = end(() => ends[1]!);
  const second = end(() => ends[0]!);
  ends.push(first, second);
  return [first, second];
}
