/** `tidegate apiserver` on a file system that is filled and freed, with its data and its log on it. */
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { CONFIG_MAPS, KubeClient, type KubeObject, loadConfig } from '@tidegate/kube';
import { expect, onTestFinished, test } from 'vitest';
import { reservePort } from '../support/ports.ts';
import { TestProcess } from '../support/process.ts';
import { PROGRAM } from '../support/repository.ts';
import { Tidegate } from '../support/tidegate.ts';

type Disk = Awaited<ReturnType<typeof smallDisk>>;

const configMap = (name: string, kilobytes = 1): KubeObject => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: 'default' },
  data: { text: name.repeat((kilobytes << 10) / name.length) },
});

class Server {
  readonly disk: Disk;
  readonly #kubeconfig: string;
  #process!: TestProcess;
  /** The same after a restart: the kubeconfig names it, and cannot be written on a full disk. */
  port = 0;
  client!: KubeClient;

  constructor(disk: Disk) {
    this.disk = disk;
    this.#kubeconfig = join(disk.directory, 'kubeconfig');
  }

  static async start(): Promise<Server> {
    const server = new Server(await smallDisk(8 << 20));
    server.port = await reservePort();
    await server.start();
    onTestFinished(() => server.stop('SIGKILL'));
    return server;
  }

  get args(): string[] {
    const state = join(this.disk.directory, 'data');
    return ['apiserver', '--state', state, '--port', String(this.port), '--kubeconfig', this.#kubeconfig];
  }

  async start(): Promise<void> {
    const log = openSync(this.logFile, 'a');
    this.#process = new TestProcess([process.execPath, PROGRAM, ...this.args], { log, ipc: true });
    closeSync(log);
    await Promise.race([this.#process.message(), this.#process.exited]);
    expect(this.log).not.toContain('tidegate: ');
    this.client = new KubeClient(await loadConfig({ path: this.#kubeconfig, env: {} }));
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    if (!this.running) return;
    await this.client.close();
    await this.#process.kill(signal);
  }

  get running(): boolean {
    return this.#process.running;
  }

  get logFile(): string {
    return join(this.disk.directory, 'log');
  }

  get log(): string {
    return existsSync(this.logFile) ? readFileSync(this.logFile, 'utf8') : '';
  }

  async names(): Promise<string[]> {
    const { items } = await this.client.list(CONFIG_MAPS, { namespace: 'default' });
    return items.map(({ metadata }) => metadata.name ?? '').filter((name) => name !== 'kube-root-ca.crt');
  }

  /** Creates objects until one is refused; returns how many were accepted, and the error. */
  async createUntilRefused(prefix: string): Promise<{ accepted: string[]; error: unknown }> {
    const accepted: string[] = [];
    for (;;) {
      const name = `${prefix}-${accepted.length}`;
      try {
        await this.client.create(CONFIG_MAPS, configMap(name, 16));
        accepted.push(name);
      } catch (error) {
        return { accepted, error };
      }
    }
  }

  health(path: string): Promise<string> {
    return this.client.text(path).catch((error: Error) => error.message);
  }
}

test('refuses writes with a clear Status while the disk is full, serves reads, and recovers by itself', async () => {
  const server = await Server.start();
  const { disk, client } = server;
  await client.create(CONFIG_MAPS, configMap('before'));
  disk.fill(100 << 10);

  const { accepted, error } = await server.createUntilRefused('nearly');
  expect(accepted.length).toBeGreaterThan(0);
  expect(error).toMatchObject({
    code: 507,
    reason: 'InsufficientStorage',
    message: `nothing was changed: no space left on the file system of ${join(disk.directory, 'data/store')}: free some space and try again`,
  });
  // No write hangs, whatever its verb, and however often it is refused.
  const refused = await Promise.allSettled(
    Array.from({ length: 50 }, (_, i) => client.create(CONFIG_MAPS, configMap(`refused-${i}`, 64))),
  );
  for (const outcome of refused) expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 507 } });
  disk.fill();
  await expect(
    client.delete(CONFIG_MAPS, { namespace: 'default', name: accepted[0] ?? '' }),
  ).rejects.toMatchObject({ code: 507 });

  // Reads work, on old and on new connections.
  expect(await server.names()).toEqual(['before', ...accepted].sort());
  const fresh = new KubeClient(await loadConfig({ path: join(disk.directory, 'kubeconfig'), env: {} }));
  expect((await fresh.get(CONFIG_MAPS, { namespace: 'default', name: 'before' })).data).toBeDefined();
  await fresh.close();
  expect(await server.health('/livez')).toBe('ok');
  const trouble =
    '[-]store-writes failed: no space left on the disk of the store; writes are refused, reads work';
  expect(await server.health('/livez?verbose')).toContain(`${trouble} (only readyz fails)`);
  expect(await server.health('/readyz')).toContain(trouble);
  expect(await server.health('/readyz?exclude=store-writes')).toBe('ok');

  disk.free();
  await expect.poll(() => server.health('/readyz')).toBe('ok');
  await client.create(CONFIG_MAPS, configMap('after'));
  const expected = [...accepted, 'after', 'before'].sort();
  expect(await server.names()).toEqual(expected);
  expect(server.log).toContain('the store refuses writes until the disk accepts them');

  // Nothing that was refused comes back, and nothing that was accepted is lost, also without a clean stop.
  await server.stop('SIGKILL');
  await server.start();
  expect(await server.names()).toEqual(expected);
  expect(server.log).not.toContain('Unhandled');
});

test('restarts after a kill while the disk is full, serves reads, and accepts writes when there is space', async () => {
  const server = await Server.start();
  const { disk } = server;
  disk.fill(200 << 10);
  const { accepted } = await server.createUntilRefused('kept');
  await server.stop('SIGKILL');
  disk.fill();

  await server.start();
  expect(await server.names()).toEqual(accepted.sort());
  const { client } = server;
  await expect(client.create(CONFIG_MAPS, configMap('refused', 64))).rejects.toMatchObject({ code: 507 });
  expect(await server.health('/livez')).toBe('ok');
  expect(await server.health('/readyz')).toContain('[-]store-writes failed: no space left');

  disk.free();
  await expect.poll(() => server.health('/readyz')).toBe('ok');
  await client.create(CONFIG_MAPS, configMap('after'));
  expect(await server.names()).toEqual(['after', ...accepted].sort());
});

test('does not create a cluster on a full disk, and says so in one sentence', async () => {
  const disk = await smallDisk();
  disk.fill();
  const first = new Tidegate(new Server(disk).args);
  const { code } = await first.exited;
  expect({ code, stderr: first.stderr }).toEqual({
    code: 1,
    stderr: `tidegate: no space left on the file system of ${join(disk.directory, 'data/store')}: free some space and try again\n`,
  });
});
