/**
 * The range of loopback addresses of a cluster, 127.X.0.0/16. Clusters on one machine must not share a range: their
 * nodes and pods would have the same addresses. A supervisor holds its range with a socket, which no other process can
 * open at the same time, and which the kernel releases when the supervisor ends in any way.
 */
import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import { type Listener, listeners } from '@tidegate/envtest/machine';
import { codeOf, SupervisorError } from './error.ts';

const RANGES = { first: 64, last: 127 };

export interface HeldRange {
  range: number;
  release(): Promise<void>;
}

/** Holds the wanted range, or another one if a running cluster has it. Without a wish, avoids ranges with listeners. */
export async function holdRange(wanted?: number, found = listeners()): Promise<HeldRange> {
  const count = RANGES.last - RANGES.first + 1;
  const start = randomInt(count);
  const others = Array.from({ length: count }, (_, i) => RANGES.first + ((start + i) % count));
  const used = rangesOf(found);
  for (const range of [
    ...(wanted === undefined ? [] : [wanted]),
    ...others.filter((each) => !used.has(each)),
  ]) {
    const release = await hold(range);
    if (release !== undefined) return { range, release };
  }
  throw new SupervisorError(
    `every address range from 127.${RANGES.first}.0.0/16 to 127.${RANGES.last}.0.0/16 is in use by other programs, possibly other clusters; stop one of them first`,
  );
}

/** The ranges with a listener, for example a pod that outlived its cluster. */
const rangesOf = (found: readonly Listener[]): Set<number> =>
  new Set(found.flatMap(({ address }) => /^127\.(\d+)\./.exec(address)?.[1] ?? []).map(Number));

/**
 * An abstract socket has a name but no file, and exists once per network namespace, like the addresses. Only Linux has
 * them, but only Linux has all of 127.0.0.0/8 on its loopback interface too.
 */
async function hold(range: number): Promise<(() => Promise<void>) | undefined> {
  if (process.platform !== 'linux') return async () => {};
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(`\0tidegate-127.${range}.0.0/16`, resolve);
    });
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') return undefined;
    throw error;
  }
  return () => new Promise((resolve) => server.close(() => resolve()));
}
