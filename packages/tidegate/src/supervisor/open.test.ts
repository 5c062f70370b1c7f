import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type ClusterOptions, openCluster } from './open.ts';
import { addressOf, type ClusterState, readCluster, StateDirectory, writeCluster } from './state.ts';

let state: StateDirectory;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-')));
});
afterEach(() => rm(state.path, { recursive: true }));

/** Opens a cluster with these options; returns whether its example is still to be created. */
async function awaitsStory(options: ClusterOptions): Promise<boolean> {
  const { close } = await openCluster(state, { port: 0, ...options }, () => {});
  await close();
  return (await readCluster(state))?.awaitsStory === true;
}

describe('the example', () => {
  test('is created only in new clusters, and stays pending until it is created', async () => {
    expect(await awaitsStory({})).toBe(true);
    expect(await awaitsStory({})).toBe(true);
    const { awaitsStory: _, ...created } = (await readCluster(state))!;
    writeCluster(state, created);
    expect(await awaitsStory({})).toBe(false);
  });

  test.each<ClusterOptions>([{ story: false }, { empty: true }, { nodes: '1' }])(
    'is never created after an `up` with %o',
    async (options) => {
      expect(await awaitsStory(options)).toBe(false);
      expect(await awaitsStory({})).toBe(false);
    },
  );
});

/** Opens and closes a cluster; returns its state and what was reported. */
async function open(options: ClusterOptions = {}): Promise<{ cluster: ClusterState; lines: string[] }> {
  const lines: string[] = [];
  const { cluster, close } = await openCluster(state, { nodes: '2', ...options }, (line) => lines.push(line));
  await close();
  return { cluster, lines };
}

/** Another program that listens on an address; returns its port. */
async function stranger(host: string): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, host, resolve);
  });
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

test('a directory in the state that cannot be written is reported before anything starts', async () => {
  await writeFile(state.logs, '');
  await expect(open()).rejects.toThrow(
    `cannot write to the directory ${state.logs} (ENOTDIR: not a directory, scandir '${state.logs}'); correct its owner and mode, or choose`,
  );
});

describe('the port of the API server', () => {
  test('is another one if the recorded one is in use, and says so', async () => {
    const port = await stranger('127.0.0.1');
    const { cluster } = await open({ port: 0 });
    writeCluster(state, { ...cluster, port });
    const again = await open();
    expect(again.cluster.port).not.toBe(port);
    expect(again.lines).toEqual([
      `port ${port} on 127.0.0.1 is already in use; the API server uses ${again.cluster.port} instead`,
    ]);
  });

  test('is rejected if the user asks for one that is in use', async () => {
    const port = await stranger('127.0.0.1');
    await expect(open({ port })).rejects.toThrow(
      `port ${port} on 127.0.0.1 is already in use; choose another with --port (0 selects a free port)`,
    );
  });
});

describe('the addresses of an existing cluster', () => {
  test('stay the same, also after ports had to be replaced', async () => {
    const { cluster } = await open({ port: 0 });
    const port = await stranger(addressOf(cluster, cluster.nodes[1]!));
    writeCluster(state, { ...cluster, ports: { ...cluster.ports, hubAdmin: port } });
    const moved = await open();
    expect(moved.lines).toHaveLength(1);
    expect(moved.lines[0]).toContain(`port ${port} is in use by another program on this machine; hubs use`);
    const later = await open();
    expect(later.cluster).toEqual(moved.cluster);
    expect(later.lines).toEqual([]);
  });

  test('are others while another cluster runs with them', async () => {
    const { cluster, close } = await openCluster(state, { port: 0, nodes: '1' }, () => {});
    const other = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-')));
    onTestFinished(() => rm(other.path, { recursive: true }));
    writeCluster(other, cluster);
    const lines: string[] = [];
    const second = await openCluster(other, {}, (line) => lines.push(line));
    expect(second.cluster.range).not.toBe(cluster.range);
    expect(lines).toContainEqual(
      `another cluster uses the addresses 127.${cluster.range}.0.0/16; nodes and pods get addresses from 127.${second.cluster.range}.0.0/16 instead`,
    );
    await second.close();
    await close();
  });
});

describe('the state directory', () => {
  test('is made private before anything starts', async () => {
    await chmod(state.path, 0o755);
    const { lines } = await open({ port: 0 });
    expect((await stat(state.path)).mode & 0o777).toBe(0o700);
    expect(lines).toEqual([
      `other users could enter the state directory ${state.path} (mode 755); changed its mode to 700`,
    ]);
    expect((await open({ port: 0 })).lines).toEqual([]);
  });
});
