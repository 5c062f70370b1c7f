/** The command `tidegate apiserver`: its output and its errors. */
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startApiServerProcess, Tidegate } from '../support/tidegate.ts';

let directory: string;
const started: Tidegate[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-command-'));
});
afterEach(async () => {
  for (const process of started.splice(0)) if (process.running) await process.kill('SIGKILL');
  await rm(directory, { recursive: true, force: true });
});

async function start(): Promise<Tidegate> {
  const { server } = await startApiServerProcess(directory, 0);
  started.push(server);
  return server;
}

/** Starts in the directory of the test, on a free port; `args` come last and win. */
const attempt = async (...args: string[]): Promise<{ code: number | null; stderr: string }> => {
  const usual = [
    '--state',
    join(directory, 'data'),
    '--port',
    '0',
    '--kubeconfig',
    join(directory, 'attempt'),
  ];
  const process = new Tidegate(['apiserver', ...usual, ...args]);
  started.push(process);
  const { code } = await process.exited;
  return { code, stderr: process.stderr };
};

test('prints the next command, protects the kubeconfig and stops cleanly on SIGTERM', async () => {
  const server = await start();
  expect((await stat(join(directory, 'kubeconfig'))).mode & 0o777).toBe(0o600);
  await server.kill('SIGTERM');
  expect(await server.exited).toEqual({ code: 0, signal: null });
  expect(server.stdout).toContain(`export KUBECONFIG=${join(directory, 'kubeconfig')}`);
  expect(server.stdout).toContain('kubectl get namespaces');
  expect(server.stderr).toBe('');
});

test('rejects a data directory that another process uses and names the process', async () => {
  await start();
  const { code, stderr } = await attempt();
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(join(directory, 'data'));
  expect(stderr).toMatch(/process \d+|pid \d+/);
});

test('rejects a port that is in use and says what to do', async () => {
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const { port } = other.address() as { port: number };
  try {
    const { code, stderr } = await attempt('--port', String(port));
    expect(code).toBe(1);
    expect(stderr.trim()).toBe(
      `tidegate: port ${port} on 127.0.0.1 is already in use; choose another with --port (0 selects a free port)`,
    );
  } finally {
    other.close();
  }
});

test('reports a damaged log with file and offset and deletes nothing', async () => {
  const server = await start();
  await server.kill('SIGTERM');
  const store = join(directory, 'data', 'store');
  const log = (await readdir(store)).find((file) => file.startsWith('log-')) ?? '';
  const bytes = await readFile(join(store, log));
  bytes[200] = (bytes[200] ?? 0) ^ 0xff;
  await writeFile(join(store, log), bytes);
  const { code, stderr } = await attempt();
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(log);
  expect(await readFile(join(store, log))).toEqual(bytes);
});

test.each(['70000', 'http', '-1'])('rejects the invalid port %s', async (port) => {
  const { code, stderr } = await attempt('--port', port);
  expect(code).toBe(1);
  expect(stderr).toContain('Use a whole number from 0 to 65535');
});

test('rejects an unknown log level and lists the valid ones', async () => {
  const { code, stderr } = await attempt('--log-level', 'loud');
  expect(code).toBe(1);
  expect(stderr).toContain('Allowed choices are debug, info, warn, error');
});

test('fails with a clear message if the kubeconfig cannot be written', async () => {
  await writeFile(join(directory, 'file'), '');
  const { code, stderr } = await attempt('--kubeconfig', join(directory, 'file', 'kubeconfig'));
  expect(code).toBe(1);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stderr).toContain(`cannot write the kubeconfig ${join(directory, 'file', 'kubeconfig')}`);
});
