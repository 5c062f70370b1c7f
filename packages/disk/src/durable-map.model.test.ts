/** Random changes, syncs, disk errors and crashes, compared with a plain Map. */
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { DurableMap, type DurableMapOptions } from './durable-map.ts';
import { failingDisk, recordingLogger, temporaryDirectory } from './testing.ts';

type Model = ReadonlyMap<string, string>;

const key = fc.constantFrom('a', 'a/1', 'a/2', 'b/1', 'b/ü', '');
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ op: fc.constant('put'), key, size: fc.nat(300) }) },
  { weight: 2, arbitrary: fc.record({ op: fc.constant('delete'), key }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('deletePrefix'), key: fc.constantFrom('a', 'a/', 'b/') }),
  },
  { weight: 4, arbitrary: fc.constant({ op: 'flush' }) },
  {
    weight: 1,
    arbitrary: fc.record({ op: fc.constant('refuse'), what: fc.constantFrom('write', 'datasync') }),
  },
  { weight: 1, arbitrary: fc.constant({ op: 'restart' }) },
  {
    weight: 2,
    arbitrary: fc.record({ op: fc.constant('crash'), cut: fc.double({ min: 0, max: 1, noNaN: true }) }),
  },
);
type Step = { op: string; key?: string; size?: number; what?: string; cut?: number };

class Run {
  readonly #path: string;
  readonly #disk = failingDisk();
  #map!: DurableMap;
  #model = new Map<string, string>();
  /** The states that a crash may leave: the last durable one, or one whose commit was attempted since. */
  #possible: Model[] = [new Map()];
  #puts = 0;
  /** The size of the file when the last durable state was written. */
  #durableSize = 0;

  constructor(path: string) {
    this.#path = path;
  }

  async open(): Promise<void> {
    const clock = { after: () => () => {} };
    const { openOutput } = this.#disk;
    const options: DurableMapOptions = { log: recordingLogger(), clock, openOutput, leastGarbage: 800 };
    this.#map = await DurableMap.open(this.#path, options);
    this.#durableSize = (await readFile(this.#path)).length;
  }

  async close(): Promise<void> {
    this.#disk.refused.clear();
    await this.#map.close();
  }

  async take({ op, key = '', size = 0, what = '', cut = 0 }: Step): Promise<void> {
    switch (op) {
      case 'put': {
        const value = `${this.#puts++} ${'v'.repeat(size)}`;
        this.#map.put(key, Buffer.from(value));
        this.#model.set(key, value);
        break;
      }
      case 'delete':
        this.#map.delete(key);
        this.#model.delete(key);
        break;
      case 'deletePrefix':
        this.#map.deletePrefix(key);
        for (const name of [...this.#model.keys()]) if (name.startsWith(key)) this.#model.delete(name);
        break;
      case 'flush':
        await this.#flush();
        break;
      case 'refuse':
        this.#disk.refused.set(what as 'write', 'EIO');
        this.#possible.push(new Map(this.#model));
        await this.#map.flush().catch((error) => expect(error).toMatchObject({ code: 'io' }));
        this.#disk.refused.clear();
        break;
      case 'restart':
        await this.close();
        this.#possible = [new Map(this.#model)];
        await this.open();
        break;
      case 'crash':
        await this.#crash(cut);
        break;
    }
    await this.#check(this.#model);
  }

  async #flush(): Promise<void> {
    await this.#map.flush();
    this.#possible = [new Map(this.#model)];
    this.#durableSize = (await readFile(this.#path)).length;
  }

  /** The process crashes, and any number of the bytes that were not durable reach the disk. */
  async #crash(cut: number): Promise<void> {
    const before = await readFile(this.#path);
    const durable = Math.min(this.#durableSize, before.length);
    const left = before.subarray(0, durable + Math.round(cut * (before.length - durable)));
    // The old process must not write any more: it is closed cleanly here, and the file is restored to what the crash
    // left.
    await this.close();
    await rm(this.#path);
    await writeFile(this.#path, left);
    await this.open();
    const found = await contentOf(this.#map);
    expect(this.#possible).toContainEqual(found);
    this.#model = new Map(found);
    this.#possible = [new Map(found)];
  }

  async #check(model: Model): Promise<void> {
    expect(await contentOf(this.#map)).toEqual(model);
    expect(this.#map.keys('a/').sort()).toEqual([...model.keys()].filter((k) => k.startsWith('a/')).sort());
  }
}

async function contentOf(map: DurableMap): Promise<Model> {
  const content = new Map<string, string>();
  for await (const [name, value] of map.entries()) content.set(name, String(value));
  return content;
}

it('a durable map and a plain map agree after any sequence of operations', async () => {
  let run = 0;
  const directory = await temporaryDirectory();
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 60 }), async (steps) => {
      const world = new Run(join(directory, `map-${run++}`));
      await world.open();
      try {
        for (const one of steps) await world.take(one);
      } finally {
        await world.close();
      }
    }),
    { numRuns: 60 },
  );
});
