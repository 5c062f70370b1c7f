/** Nothing outlives a test run, however it ends. Starts a small run that leaves processes and files, and ends it. */
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startTicksOf } from '@tidegate/envtest/node';
import { expect, test } from 'vitest';
import { eventually } from '../support/cluster.ts';
import { TestProcess } from '../support/process.ts';

/** What the test of the fixture has recorded. */
interface Record {
  /** Processes that it has left. */
  pids: number[];
  worker: number;
  main: number;
  /** The directory of all temporary files of the run. */
  directory: string;
}

interface Run extends Record {
  npm: TestProcess;
  /** Waits until all of them have ended and the files are removed. */
  nothingIsLeft(): Promise<void>;
}

async function startRun(ending: 'hang' | 'success' | 'failure'): Promise<Run> {
  const file = join(await mkdtemp(join(tmpdir(), 'guard-')), 'record.json');
  const temporary = await mkdtemp(join(tmpdir(), 'guard-'));
  const npm = new TestProcess(['npm', 'test'], {
    cwd: join(import.meta.dirname, 'fixture'),
    // The processes of the fixture do not end by themselves, so waiting for them is in vain.
    env: { ...process.env, TMPDIR: temporary, FIXTURE: file, ENDING: ending, GUARD_GRACE_MS: '0' },
    // As in a terminal: Ctrl-C signals the whole group.
    detached: true,
  });
  const record = await eventually('the run has started its processes', async () => {
    if (!existsSync(file)) return undefined;
    return JSON.parse(await readFile(file, 'utf8')) as Record;
  });
  const all = [...record.pids, record.worker, record.main, npm.pid].map((pid) => ({
    pid,
    started: startTicksOf(pid),
  }));
  const isLeft = ({ pid, started }: (typeof all)[number]): boolean =>
    started !== undefined && startTicksOf(pid) === started;
  return {
    ...record,
    npm,
    async nothingIsLeft() {
      await eventually('all processes have ended', () => {
        expect(all.filter(isLeft)).toEqual([]);
        return true;
      });
      await eventually('the files are removed', async () => {
        expect(await readdir(temporary)).toEqual([]);
        return true;
      });
    },
  };
}

test.each([
  ['npm is killed', 'SIGKILL', (run: Run) => run.npm.pid],
  ['Vitest is killed', 'SIGKILL', (run: Run) => run.main],
  ['Vitest is terminated', 'SIGTERM', (run: Run) => run.main],
  ['the user presses Ctrl-C', 'SIGINT', (run: Run) => -run.npm.pid],
] as const)('nothing is left when %s', async (_, signal, target) => {
  const run = await startRun('hang');
  process.kill(target(run), signal);
  await run.nothingIsLeft();
});

test('nothing is left when a worker of Vitest is killed', async () => {
  const run = await startRun('hang');
  process.kill(run.worker, 'SIGKILL');
  expect(await run.npm.exited).toMatchObject({ code: 1 });
  await run.nothingIsLeft();
});

test.each(['success', 'failure'] as const)(
  'a run that ends with %s fails with a list of the processes that tests left',
  async (ending) => {
    const run = await startRun(ending);
    expect(await run.npm.exited).toMatchObject({ code: 1 });
    expect(run.npm.output).toContain(`1 ${ending === 'success' ? 'passed' : 'failed'}`);
    expect(run.npm.output).toContain('Tests left these processes behind. They were killed:');
    for (const pid of run.pids) expect(run.npm.output).toContain(`  ${pid} (parent `);
    await run.nothingIsLeft();
  },
);
