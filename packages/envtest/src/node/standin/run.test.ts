import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

let directory: string;
let program: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-stand-in-'));
  program = join(directory, 'stand-in.mjs');
  const entry = join(import.meta.dirname, 'main.ts');
  await build({ entryPoints: [entry], outfile: program, bundle: true, platform: 'node', format: 'esm' });
});

afterAll(() => rm(directory, { recursive: true, force: true }));

const address = '127.99.1.3';

async function configure(file: string, fields: object): Promise<void> {
  await writeFile(`${file}.tmp`, JSON.stringify({ image: 'nginx', address, ...fields }));
  await rename(`${file}.tmp`, file);
}

function start(file: string): { child: ChildProcess; output: () => string; ended: Promise<unknown[]> } {
  const child = spawn(process.execPath, [program, '--config', file], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, CONTAINER_ROOT: directory },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  }
  onTestFinished(() => void child.kill('SIGKILL'));
  return { child, output: () => output, ended: once(child, 'close') };
}

async function ask(port: number, agent: Agent | false = false): Promise<number | undefined> {
  const [response] = await once(get({ host: address, port, agent }), 'response');
  for await (const _ of response);
  return response.statusCode;
}

const answers = async (port: number): Promise<boolean> =>
  ask(port).then(
    () => true,
    () => false,
  );

describe('the process of a stand-in', () => {
  test('follows its file, and drains without failing a request', async () => {
    const file = join(directory, 'serving.json');
    await configure(file, { ports: [18080] });
    const { child, output, ended } = start(file);
    await expect.poll(() => answers(18080)).toBe(true);
    await configure(file, { ports: [18080, 18081] });
    await expect.poll(() => answers(18081)).toBe(true);

    const agent = new Agent({ keepAlive: true, maxSockets: 2 });
    child.kill('SIGTERM');
    // Requests arrive over new and existing connections for as long as endpoints may still contain the pod.
    for (let i = 0; i < 30; i++) {
      expect(await Promise.all([ask(18080, agent), ask(18081, agent), ask(18080)])).toEqual([200, 200, 200]);
    }
    agent.destroy();
    expect(await ended).toEqual([0, null]);
    expect(output()).toMatch(/ GET \/ 200\n/);
  });

  test('exits immediately when its work is expected to complete', async () => {
    const file = join(directory, 'job.json');
    await configure(file, { completes: true });
    const { output, ended } = start(file);
    expect(await ended).toEqual([0, null]);
    expect(output()).toBe('stand-in for nginx: completed.\n');
  });

  test('runs without ports until SIGTERM', async () => {
    const file = join(directory, 'idle.json');
    await configure(file, {});
    const { child, output, ended } = start(file);
    await expect.poll(output).toContain('no port');
    child.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
  });

  test('reports in one sentence that a port is in use, also as its termination message', async () => {
    const file = join(directory, 'taken.json');
    await configure(file, { ports: [18090] });
    start(file);
    await expect.poll(() => answers(18090)).toBe(true);
    const second = start(file);
    expect(await second.ended).toEqual([1, null]);
    const sentence =
      'stand-in: port 18090 on 127.99.1.3 is in use by another program of this machine, which possibly listens on all addresses; stop it, or use another port in the pod.';
    expect(second.output()).toContain(`${sentence}\n`);
    expect(await readFile(join(directory, 'dev/termination-log'), 'utf8')).toBe(sentence);
  });
});
