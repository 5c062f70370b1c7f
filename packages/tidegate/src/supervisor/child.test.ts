import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Child, type ChildHooks } from './child.ts';
import { lastLine } from './last-line.ts';

let directory: string;
const children: Child[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-child-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill();
  await rm(directory, { recursive: true, force: true });
});

/** Waits only as long as the delays that matter to a test are told apart. */
const hasty: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 20, fire) };

function childOf(script: string, hooks: ChildHooks = {}, clock = hasty): Child {
  const spec = {
    name: 'child',
    command: [process.execPath, '-e', script],
    log: join(directory, 'child.log'),
    stopMs: 5000,
  };
  const child = new Child(spec, hooks, clock);
  children.push(child);
  return child;
}

const UNTIL_TOLD =
  "process.send('ready'); process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000);";

describe('a child process', () => {
  it('is ready when it says so, writes into its log, and ends when asked', async () => {
    const child = childOf(`console.log('hello'); ${UNTIL_TOLD}`, {}, systemClock);
    await child.start();
    expect(child.status).toMatchObject({ name: 'child', state: 'running', restarts: 0 });
    expect(await child.stop()).toBe(true);
    expect(child.status).toMatchObject({ state: 'stopped', pid: undefined });
    expect(await readFile(join(directory, 'child.log'), 'utf8')).toBe('hello\n');
  });

  it('that was killed is started again, and that is told', async () => {
    const told: string[] = [];
    const back = new Promise<void>((resolve) => {
      const hooks: ChildHooks = {
        onExit: (_, why, delayMs) => told.push(`${why}, ${delayMs} ms`),
        onBack: () => resolve(),
      };
      const child = childOf(UNTIL_TOLD, hooks);
      child.start().then(() => process.kill(child.status.pid ?? 0, 'SIGKILL'));
    });
    await back;
    expect(told).toEqual(['killed by SIGKILL, 200 ms']);
    expect(children[0]?.status).toMatchObject({ state: 'running', restarts: 1 });
  });

  it('that never gets ready is given up with its last words', async () => {
    const delays: number[] = [];
    const child = childOf("console.error('tidegate: no disk.'); process.exit(1)", {
      onExit: (_, __, delayMs) => delays.push(delayMs),
    });
    await expect(child.start()).rejects.toThrow(
      `child can not start: no disk (its log is ${join(directory, 'child.log')})`,
    );
    expect(delays).toEqual([200, 400, 800, 1600]);
    expect(child.status.state).toBe('stopped');
  });

  it('that was ready once is never given up', async () => {
    const delays: number[] = [];
    const enough = new Promise<void>((resolve) => {
      const child = childOf("process.send('ready', () => process.exit(3))", {
        onExit: (_, __, delayMs) => {
          if (delays.push(delayMs) === 7) resolve();
        },
      });
      child.start();
    });
    await enough;
    expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000]);
  });

  it('that does not end when asked is ended', async () => {
    const child = childOf(`process.on('SIGTERM', () => {}); ${UNTIL_TOLD.replace('process.exit(0)', '0')}`);
    await child.start();
    expect(await child.stop()).toBe(false);
  });

  it('that can not be run at all is given up too', async () => {
    const child = new Child(
      { name: 'x', command: ['/does/not/exist'], log: join(directory, 'x.log'), stopMs: 1 },
      {},
      hasty,
    );
    await expect(child.start()).rejects.toThrow('x can not start: spawn /does/not/exist ENOENT');
  });

  it('waiting for its next start can be stopped', async () => {
    let stopped: Promise<boolean> | undefined;
    const child = childOf('process.exit(1)', { onExit: () => (stopped ??= child.stop()) }, systemClock);
    await child.start();
    expect(await stopped).toBe(true);
    expect(child.status.state).toBe('stopped');
  });
});

it.each([
  ['', undefined],
  ['a\nb\n\n', 'b'],
  ['tidegate: port 1 is in use.\n', 'port 1 is in use'],
  ['tidegate: Error: no key\n    at f (file:1)\n', 'no key'],
  ["error: unknown option '--x'\n(run with --help to see what is possible)\n", "error: unknown option '--x'"],
  [
    'file:1\nthrow x\n\nTypeError: boom\n    at f (file:1)\n    at g {\n  code: 1\n}\n\nNode.js v20.20.2\n',
    'TypeError: boom',
  ],
  ['{"level":50,"msg":"request failed","err":{"message":"no"}}\n', 'request failed: no'],
])('of %j the last line is %j', (output, expected) => {
  expect(lastLine(output)).toBe(expected);
});
