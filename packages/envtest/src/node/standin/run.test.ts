import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestProcess } from '../../../../../test/support/process.ts';

let directory: string;
let program: string;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-stand-in-'));
  program = join(directory, 'stand-in.mjs');
  const entry = join(import.meta.dirname, 'main.ts');
  await build({ entryPoints: [entry], outfile: program, bundle: true, platform: 'node', format: 'esm' });
});

afterAll(() => rm(directory, { recursive: true, force: true }));

/** Each run uses another address, so that concurrent runs do not conflict. */
const address = `127.${randomInt(130, 250)}.${randomInt(1, 250)}.3`;

async function configure(file: string, fields: object): Promise<void> {
  await writeFile(`${file}.tmp`, JSON.stringify({ image: 'nginx', address, ...fields }));
  await rename(`${file}.tmp`, file);
}

const start = (file: string): TestProcess =>
  new TestProcess([process.execPath, program, '--config', file], {
    env: { ...process.env, CONTAINER_ROOT: directory },
  });

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
    const standIn = start(file);
    await expect.poll(() => answers(18080)).toBe(true);
    await configure(file, { ports: [18080, 18081] });
    await expect.poll(() => answers(18081)).toBe(true);

    const agent = new Agent({ keepAlive: true, maxSockets: 2 });
    standIn.signal('SIGTERM');
    // Requests arrive over new and existing connections for as long as endpoints may still contain the pod. The ports
    // are closed when this time is over, and not before.
    const round = () => Promise.all([ask(18080, agent), ask(18081, agent), ask(18080)]);
    const isClosed = (error: NodeJS.ErrnoException): undefined => {
      if (error.code !== 'ECONNREFUSED' && error.code !== 'ECONNRESET') throw error;
    };
    for (let answers = await round().catch(isClosed); answers; answers = await round().catch(isClosed))
      expect(answers).toEqual([200, 200, 200]);
    agent.destroy();
    expect(await standIn.exited).toEqual({ code: 0, signal: null });
    expect(standIn.output).toMatch(/stand-in stops, .*\n(?:.*\n)*.* GET \/ 200\n/);
  });

  test('exits immediately when its work is expected to complete', async () => {
    const file = join(directory, 'job.json');
    await configure(file, { completes: true });
    const standIn = start(file);
    expect(await standIn.exited).toEqual({ code: 0, signal: null });
    expect(standIn.output).toBe('stand-in for nginx: completed.\n');
  });

  test('runs without ports until SIGTERM', async () => {
    const file = join(directory, 'idle.json');
    await configure(file, {});
    const standIn = start(file);
    await expect.poll(() => standIn.output).toContain('no port');
    standIn.signal('SIGTERM');
    expect(await standIn.exited).toEqual({ code: 0, signal: null });
  });

  test('reports in one sentence that a port is in use, also as its termination message', async () => {
    const file = join(directory, 'taken.json');
    await configure(file, { ports: [18090] });
    const first = start(file);
    await expect.poll(() => answers(18090)).toBe(true);
    const second = start(file);
    expect(await second.exited).toEqual({ code: 1, signal: null });
    const sentence = `stand-in: port 18090 on ${address} is in use by another program of this machine, which possibly listens on all addresses; stop it, or use another port in the pod.`;
    expect(second.output).toContain(`${sentence}\n`);
    expect(await readFile(join(directory, 'dev/termination-log'), 'utf8')).toBe(sentence);
    await first.kill('SIGKILL');
  });
});
