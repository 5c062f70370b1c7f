/** Writes to the store in the given directory until it is killed, and prints the acknowledged writes. */

import { type Entry, openStore } from '@tidegate/envtest/store';
import { type Acknowledged, configMap, valueAt } from './workload.ts';

const directory = process.argv[2];
if (directory === undefined) throw new Error('usage: writer <directory>');
const store = await openStore({ directory, snapshotBytes: 200_000 });

function acknowledge(type: Acknowledged['type'], name: string, entry: Entry | undefined): void {
  if (entry === undefined) throw new Error(`nothing was written to ${name}`);
  console.log(JSON.stringify({ type, name, revision: entry.revision } satisfies Acknowledged));
}

async function put(name: string): Promise<number> {
  const entry = await store.write(configMap(name), (_, revision) => ({
    type: 'put',
    value: valueAt(revision),
  }));
  acknowledge('put', name, entry);
  return entry?.revision ?? 0;
}

/** Overwrites its own objects repeatedly, and creates others that it deletes. */
async function writeForever(writer: number): Promise<never> {
  for (let turn = 0; ; turn += 1) {
    const revision = await put(`kept-${writer}-${turn % 40}`);
    const temporary = `temporary-${writer}-${revision}`;
    await put(temporary);
    const gone = await store.write(configMap(temporary), (_, at) => ({ type: 'delete', value: valueAt(at) }));
    acknowledge('delete', temporary, gone);
  }
}

await Promise.all(Array.from({ length: 8 }, (_, writer) => writeForever(writer)));
