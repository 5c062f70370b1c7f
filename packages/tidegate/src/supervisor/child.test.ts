import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Clock, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Child, type ChildHooks, type ChildSpec } from './child.ts';
import { exitReason, lastLine } from './exit-reason.ts';

let directory: string;
const children: Child[] = [];
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-child-'));
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill();
  await rm(directory, { recursive: true, force: true });
});

/** A clock whose delays are shorter, but still differ from each other. */
const fast: Clock = { ...systemClock, after: (ms, fire) => systemClock.after(ms / 20, fire) };

function childOf(
  script: string,
  hooks: ChildHooks = {},
  clock = fast,
  servedAt?: ChildSpec['servedAt'],
): Child {
  const spec = {
    name: 'child',
    command: [process.execPath, '-e', script],
    log: join(directory, 'child.log'),
    stopMs: 5000,
    ...(servedAt !== undefined && { servedAt }),
  };
  const child = new Child(spec, hooks, clock);
  children.push(child);
  return child;
}

const UNTIL_SIGTERM =
  "process.send('ready'); process.on('SIGTERM', () => process.exit(0)); setInterval(() => {}, 1000);";

describe('a child process', () => {
  it('reports ready, writes its log, and exits on SIGTERM', async () => {
    const child = childOf(`console.log('hello'); ${UNTIL_SIGTERM}`, {}, systemClock);
    await child.start();
    expect(child.status).toMatchObject({ name: 'child', state: 'running', restarts: 0 });
    expect(await child.stop()).toBe(true);
    expect(child.status).toMatchObject({ state: 'stopped', pid: undefined });
    expect(await readFile(join(directory, 'child.log'), 'utf8')).toBe('hello\n');
  });

  it('is restarted after a kill, and reports the reason', async () => {
    const exits: string[] = [];
    const back = new Promise<void>((resolve) => {
      const hooks: ChildHooks = {
        onExit: (_, why, delayMs) => exits.push(`${why}, ${delayMs} ms`),
        onReadyAgain: () => resolve(),
      };
      const child = childOf(UNTIL_SIGTERM, hooks);
      child.start().then(() => process.kill(child.status.pid ?? 0, 'SIGKILL'));
    });
    await back;
    expect(exits).toEqual(['killed by SIGKILL, 200 ms']);
    expect(children[0]?.status).toMatchObject({ state: 'running', restarts: 1 });
  });

  it('is given up, with its last line, when it never becomes ready', async () => {
    const delays: number[] = [];
    const child = childOf("console.error('tidegate: no disk.'); process.exit(1)", {
      onExit: (_, __, delayMs = 0) => delays.push(delayMs),
    });
    await expect(child.start()).rejects.toThrow(
      `child failed to start: no disk (log: ${join(directory, 'child.log')})`,
    );
    expect(delays).toEqual([200, 400, 800, 1600]);
    expect(child.status.state).toBe('stopped');
  });

  it('is never given up after it was ready once', async () => {
    const delays: number[] = [];
    const enough = new Promise<void>((resolve) => {
      const child = childOf("process.send('ready', () => process.exit(3))", {
        onExit: (_, __, delayMs = 0) => {
          if (delays.push(delayMs) === 7) resolve();
        },
      });
      child.start();
    });
    await enough;
    expect(delays).toEqual([200, 400, 800, 1600, 3200, 6400, 10_000]);
  });

  it('is not restarted after it has been retired', async () => {
    const exited = new Promise<unknown>((resolve) => {
      const child = childOf(UNTIL_SIGTERM, { onExit: (_, why, delayMs) => resolve({ why, delayMs }) });
      child.start().then(() => {
        child.retire();
        process.kill(child.status.pid ?? 0, 'SIGKILL');
      });
    });
    expect(await exited).toEqual({ why: 'killed by SIGKILL', delayMs: undefined });
    expect(children[0]?.status).toMatchObject({ state: 'stopped', restarts: 0 });
    expect(await children[0]?.stop()).toBe(true);
  });

  it('is not restarted if it is retired while it waits for its restart', async () => {
    const exited = new Promise<Child>((resolve) => {
      childOf("process.send('ready', () => process.exit(3))", { onExit: resolve }).start();
    });
    const child = await exited;
    expect(child.status.state).toBe('waiting');
    child.retire();
    expect(child.status).toMatchObject({ state: 'stopped', restarts: 0 });
  });

  it('is killed when it ignores SIGTERM', async () => {
    const child = childOf(
      `process.on('SIGTERM', () => {}); ${UNTIL_SIGTERM.replace('process.exit(0)', '0')}`,
    );
    await child.start();
    expect(await child.stop()).toBe(false);
  });

  it('is killed and restarted when it hangs in an endless loop', async () => {
    const events: string[] = [];
    const back = new Promise<void>((resolve) => {
      const hooks: ChildHooks = {
        onSilent: ({ status }) => events.push(`silent: ${status.state}`),
        onExit: (_, why) => events.push(why),
        onReadyAgain: () => resolve(),
      };
      childOf("process.send('ready', () => { for (;;); })", hooks).start();
    });
    await back;
    expect(events).toEqual(['silent: unresponsive', 'it did not respond for 30 s and was killed']);
  });

  it('is killed at once when it is stopped while it does not respond', async () => {
    const silent = new Promise<Child>((resolve) => {
      childOf("process.send('ready', () => { for (;;); })", { onSilent: resolve }).start();
    });
    expect(await (await silent).stop()).toBe(false);
  });

  it('must also answer where it serves', async () => {
    const server = createServer((_, response) => response.end('ok'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const events: string[] = [];
    const silent = new Promise<void>((resolve) => {
      const hooks: ChildHooks = { onSilent: () => resolve(), onExit: (_, why) => events.push(why) };
      const child = childOf(
        "process.on('message', () => process.send('pong')); process.send('ready')",
        hooks,
        fast,
        { url: `http://127.0.0.1:${port}/healthz` },
      );
      child.start().then(() => {
        server.close();
        server.closeAllConnections();
      });
    });
    await silent;
    expect(events).toEqual([]);
  });

  it('is restarted later when its log cannot be opened', async () => {
    const exits: string[] = [];
    const spec = {
      name: 'x',
      command: [process.execPath, '-e', UNTIL_SIGTERM],
      log: join(directory, 'none', 'x.log'),
      stopMs: 1000,
    };
    const child = new Child(spec, { onExit: (_, why) => exits.push(why) }, fast);
    children.push(child);
    const started = child.start();
    await mkdir(join(directory, 'none'));
    await started;
    expect(exits[0]).toContain('cannot be started: ENOENT');
    expect(child.status.state).toBe('running');
  });

  it('is given up when its program does not exist', async () => {
    const child = new Child(
      { name: 'x', command: ['/does/not/exist'], log: join(directory, 'x.log'), stopMs: 1 },
      {},
      fast,
    );
    await expect(child.start()).rejects.toThrow('x failed to start: spawn /does/not/exist ENOENT');
  });

  it('can be stopped while it waits for its restart', async () => {
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
])('the last line of %j is %j', (output, expected) => {
  expect(lastLine(output)).toBe(expected);
});

it.each([
  [null, 'SIGKILL', 'anything\n', 'killed by SIGKILL'],
  [3, null, '', 'exited with code 3'],
  [1, null, 'tidegate: no disk.\n', 'no disk'],
  [
    null,
    'SIGABRT',
    '<--- Last few GCs --->\n\n\nFATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory\n----- Native stack trace -----\n\n 1: 0xb\n',
    'FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory',
  ],
  [null, 'SIGABRT', '', 'killed by SIGABRT'],
] as const)(
  'an exit with code %j and signal %j after %j is reported as %j',
  (code, signal, output, expected) => {
    expect(exitReason(code, signal, () => output)).toBe(expected);
  },
);
