import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TestProcess } from '../../../../test/support/process.ts';
import { endContainers, RunningChildren } from './leftovers.ts';

let directory: string;
const spawned: TestProcess[] = [];

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-leftovers-'));
});
afterEach(async () => {
  for (const child of spawned.splice(0)) await child.kill('SIGKILL');
  await rm(directory, { recursive: true, force: true });
});

/** Starts a process the way an agent starts containers; resolves when it runs. */
async function container(node: string, script: string): Promise<{ ended: Promise<string | null> }> {
  const own = join(directory, node, 'pods', 'uid', 'containers', 'c');
  const child = new TestProcess(
    [process.execPath, '-e', `${script}; console.log('runs'); setInterval(() => {}, 1e6)`],
    { env: { TIDEGATE_CONTAINER: `${own}:id` } },
  );
  spawned.push(child);
  await child.until(({ stdout }) => stdout.includes('runs'));
  return { ended: child.exited.then(({ signal }) => signal) };
}

describe('containers that outlived their node agent', () => {
  it('receive SIGTERM, and SIGKILL when they ignore it', async () => {
    const graceful = await container('a', '');
    const deaf = await container('b', "process.on('SIGTERM', () => {})");
    const said: string[] = [];
    await endContainers(directory, (line) => said.push(line), 300);
    expect(await graceful.ended).toBe('SIGTERM');
    expect(await deaf.ended).toBe('SIGKILL');
    expect(said).toEqual(['stopping 2 pod processes that outlived their node agents']);
  });

  it('are left alone when they belong to another directory', async () => {
    const other = await container('ab', '');
    await endContainers(join(directory, 'a'), () => {});
    spawned[0]!.signal('SIGINT');
    expect(await other.ended).toBe('SIGINT');
  });
});

describe('the record of children', () => {
  it('is written again after a failed write', async () => {
    const inTheWay = join(directory, 'run');
    const file = join(inTheWay, 'children.json');
    await writeFile(inTheWay, '');
    const running = new RunningChildren(file);
    await expect(running.record([process.pid])).rejects.toThrow();
    await rm(inTheWay);
    await running.record([process.pid]);
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject([{ pid: process.pid }]);
    await running.clear();
    await expect(readFile(file)).rejects.toThrow('ENOENT');
  });
});
