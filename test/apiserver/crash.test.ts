/** Kills the server with SIGKILL under load: acknowledged writes survive, and resourceVersions never decrease. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { KubeClient, type KubeObject, loadConfig } from '@tidegate/kube';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startApiServerProcess } from '../support/tidegate.ts';

const CONFIGMAPS = { group: '', version: 'v1', resource: 'configmaps', namespaced: true };
const ROUNDS = 6;
const WRITERS = 16;

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-crash-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

const versionOf = (object: KubeObject): number => Number(object.metadata.resourceVersion);

test('keeps every acknowledged write when the server is killed', async () => {
  const acknowledged = new Map<string, string>();
  let newest = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const { server, kubeconfig } = await startApiServerProcess(directory, 0);
    const client = new KubeClient(await loadConfig({ env: {}, path: kubeconfig }), { maxRetries: 0 });
    try {
      const list = await client.list(CONFIGMAPS, { namespace: 'default' });
      const found = new Map(list.items.map((o) => [o.metadata.name, o.metadata.resourceVersion]));
      for (const [name, version] of acknowledged) expect(found.get(name), name).toBe(version);
      expect(Number(list.metadata.resourceVersion)).toBeGreaterThanOrEqual(newest);

      let alive = true;
      const write = async (writer: number): Promise<void> => {
        for (let i = 0; alive; i++) {
          const name = `c-${round}-${writer}-${i}`;
          const object: KubeObject = {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { name },
            data: { text: 'x'.repeat(500) },
          };
          // The server is killed during these writes; only acknowledged ones count.
          const created = await client
            .create(CONFIGMAPS, object, { namespace: 'default' })
            .catch(() => undefined);
          if (created === undefined) continue;
          acknowledged.set(name, created.metadata.resourceVersion ?? '');
          newest = Math.max(newest, versionOf(created));
        }
      };
      const writers = Array.from({ length: WRITERS }, (_, i) => write(i));
      // Wait for progress instead of a fixed time, so that the kill happens under load on any machine.
      const enough = acknowledged.size + 20 + Math.floor(Math.random() * 100);
      while (acknowledged.size < enough) await sleep(1);
      await server.kill('SIGKILL');
      alive = false;
      await Promise.all(writers);
    } finally {
      await server.kill('SIGKILL');
      await client.close();
    }
  }
  expect(acknowledged.size).toBeGreaterThan(100);
});
