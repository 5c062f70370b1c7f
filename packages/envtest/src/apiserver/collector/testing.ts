/** A store without an API server, and one collector whose queue the test empties step by step. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import type { Core, WriteOptions } from '../operations/core.ts';
import type { ResourceDefinition } from '../resources/types.ts';
import { Registry } from '../served/registry.ts';
import { openStore } from '../store/index.ts';
import type { Worker } from '../workers.ts';

export const OPTIONS: WriteOptions = {
  user: { username: 'system:apiserver', groups: [] },
  dryRun: false,
  fieldManager: 'test',
  warn: () => undefined,
};

/** A collector that enqueues without end must fail the test, not hang it. */
const MAX_STEPS = 200;

export interface TestCollector {
  core: Core;
  /** Reconciles until the queue is empty. */
  settle(): Promise<void>;
  /** Empties the queue without reconciling. */
  forget(): void;
  close(): Promise<void>;
}

/** The uids of objects are `uid-1`, `uid-2` and so on, in the order of their creation. */
export async function openCollecting(
  definitions: ResourceDefinition[],
  make: (core: Core, enqueue: (key: string) => void) => Worker,
): Promise<TestCollector> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-collector-'));
  const store = await openStore({ directory });
  const registry = new Registry();
  for (const definition of definitions) registry.set(definition);
  let uids = 0;
  const core: Core = {
    store,
    registry,
    admission: {
      mutate: async ({ object }) => object as KubeObject,
      validate: async () => undefined,
      reserve: () => () => undefined,
    },
    now: () => new Date('2026-01-01T00:00:00Z'),
    uuid: () => `uid-${++uids}`,
    random: () => 0,
  };
  const queue = new Set<string>();
  const worker = make(core, (key) => queue.add(key));
  const unsubscribe = store.watchAll((changes) => {
    for (const change of changes) worker.observe(change);
  });
  return {
    core,
    async settle() {
      for (let step = 0; queue.size > 0; step++) {
        if (step > MAX_STEPS) throw new Error(`the queue is not empty after ${MAX_STEPS} reconciles`);
        const [key = ''] = queue;
        queue.delete(key);
        await worker.reconcile(key);
        await store.flushed();
      }
    },
    forget: () => queue.clear(),
    async close() {
      unsubscribe();
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}
