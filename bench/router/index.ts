/**
 * The benchmark of the data planes. contenders.ts starts them and the references (nginx-files.ts, a static nginx.conf;
 * haproxy) with the same routes.ts, in front of backend.ts. throughput.ts sends load with wrk.ts; propagation.ts measures
 * the time from a write to the API server (objects.ts) to the first correct response of router-process.ts.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Figure, printFigures } from '../report.ts';
import { startBackend } from './backend.ts';
import { benchPropagation } from './propagation.ts';
import { benchThroughput } from './throughput.ts';

const HOSTS = [1_000, 20_000];
const INGRESSES = [10, 1_000, 10_000];

/** Measures the throughput of routers, and the time from a write to the API server to the first correct response. */
export async function benchRouter([part]: string[] = []): Promise<void> {
  if (part !== 'propagation') await throughput();
  if (part !== 'throughput') await propagation();
}

async function throughput(): Promise<void> {
  await inDirectory(async (directory) => {
    const backend = await startBackend(directory);
    try {
      const figures: Figure[] = [];
      for (const hosts of HOSTS)
        figures.push(...(await benchThroughput(directory, { hosts, endpoints: backend.endpoints })));
      printFigures('Router: nginx with Lua, compared with others with the same routes', figures);
    } finally {
      await backend.stop();
    }
  });
}

async function propagation(): Promise<void> {
  const figures: Figure[] = [];
  for (const ingresses of INGRESSES)
    await inDirectory(async (directory) => figures.push(...(await benchPropagation(directory, ingresses))));
  printFigures(
    'From the API write to the first correct response: nginx with Lua, compared with embedded',
    figures,
  );
}

async function inDirectory(work: (directory: string) => Promise<unknown>): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-bench-'));
  try {
    await work(directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
