import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { identify } from '@tidegate/disk';
import { type Clock, systemClock } from '@tidegate/kube';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { TestProcess } from '../../../../test/support/process.ts';
import { ControlServer } from './control.ts';
import { StateDirectory } from './state.ts';
import { stopCluster } from './stop.ts';

let state: StateDirectory;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate-stop-')));
});
afterEach(() => rm(state.path, { recursive: true, force: true }));

/** The limits of stopCluster, in milliseconds. */
const ACCEPT = 15_000;
const NOTICE = 10_000;
const SILENCE = 90_000;
const LONGEST_POLL = 100;

/**
 * A clock on which a minute takes a third of a second. Limits other than those in `reached` are never reached, however busy
 * the machine is. `exit`: whether the time for the process to exit runs out.
 */
const fast = ({ reached = [], exit = false }: { reached?: number[]; exit?: boolean }): Clock => ({
  ...systemClock,
  monotonic: () => (exit ? systemClock.monotonic() * 200 : 0),
  after: (ms, fire) =>
    ms <= LONGEST_POLL || reached.includes(ms) ? systemClock.after(ms / 200, fire) : () => {},
});

/** A process that holds the lock of the state directory, as a supervisor does. */
async function supervisor(script: string): Promise<TestProcess> {
  const child = new TestProcess([
    process.execPath,
    '-e',
    `${script}; console.log('runs'); setInterval(() => {}, 1e6)`,
  ]);
  onTestFinished(() => child.kill('SIGKILL'));
  await child.until(({ stdout }) => stdout.includes('runs'));
  await writeFile(join(state.path, 'lock-1'), JSON.stringify(await identify(child.pid)));
  return child;
}

/** Answers requests in place of that process. */
async function answers(handle: (command: string) => Promise<void>): Promise<void> {
  const control = await ControlServer.listen(state.socket, ({ command }) => handle(command));
  // A reply may be missing on purpose.
  onTestFinished(() => void control.close());
}

const signalOf = async (child: TestProcess): Promise<unknown> => (await child.exited).signal;

it('resolves when the process of the supervisor has ended, not when it replies', async () => {
  const child = await supervisor('');
  const asked: string[] = [];
  await answers(async (command) => void asked.push(command));
  let isDone = false;
  const stopped = stopCluster(state, () => {}).then((wasRunning) => {
    isDone = true;
    return wasRunning;
  });
  while (asked.length === 0) await sleep(5);
  await sleep(100);
  expect(isDone).toBe(false);
  child.signal('SIGINT');
  expect(await stopped).toBe(true);
  expect(asked).toEqual(['stop']);
});

it('kills a supervisor that has replied but does not exit', async () => {
  const child = await supervisor("process.on('SIGTERM', () => {})");
  await answers(async () => {});
  const lines: string[] = [];
  expect(await stopCluster(state, (line) => lines.push(line), fast({ exit: true }))).toBe(true);
  expect(await signalOf(child)).toBe('SIGKILL');
  expect(lines).toContain(`the supervisor (pid ${child.pid}) did not exit in time and was killed`);
});

it('stops a supervisor that never replies', async () => {
  const child = await supervisor('');
  const silent = createServer(() => {});
  silent.listen(state.socket);
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const lines: string[] = [];
  expect(await stopCluster(state, (line) => lines.push(line), fast({ reached: [ACCEPT] }))).toBe(true);
  expect(await signalOf(child)).toBe('SIGTERM');
  expect(lines).toEqual([
    `the supervisor (pid ${child.pid}) does not stop: it has been silent for 15 s; ending it`,
  ]);
});

it('gives a supervisor that has accepted the request more time', async () => {
  const child = await supervisor('');
  await answers(() => new Promise(() => {}));
  const lines: string[] = [];
  expect(await stopCluster(state, (line) => lines.push(line), fast({ reached: [NOTICE, SILENCE] }))).toBe(
    true,
  );
  expect(lines).toEqual([
    `waiting for the supervisor (pid ${child.pid}); it is ended if it is silent for 90 s`,
    `the supervisor (pid ${child.pid}) does not stop: it has been silent for 90 s; ending it`,
  ]);
});

it('continues a supervisor that is suspended, so that it can stop', async () => {
  const child = await supervisor("process.on('SIGCONT', () => process.exit(0))");
  child.signal('SIGSTOP');
  // A signal takes effect when its process is scheduled.
  await expect.poll(() => readFile(`/proc/${child.pid}/stat`, 'utf8')).toContain(' T ');
  await answers(async () => {});
  const lines: string[] = [];
  expect(await stopCluster(state, (line) => lines.push(line), fast({}))).toBe(true);
  expect(await child.exited).toEqual({ code: 0, signal: null });
  expect(lines).toEqual([
    `the supervisor (pid ${child.pid}) is suspended; it continues, so that it can stop the cluster`,
  ]);
});

it('stops a supervisor that does not listen, even if it ignores SIGTERM', async () => {
  const child = await supervisor("process.on('SIGTERM', () => {})");
  const lines: string[] = [];
  expect(await stopCluster(state, (line) => lines.push(line), fast({ exit: true }))).toBe(true);
  expect(await signalOf(child)).toBe('SIGKILL');
  expect(lines.join('\n')).toContain(
    `the supervisor (pid ${child.pid}) does not stop: a cluster is running in`,
  );
});

it('resolves immediately when the state directory holds no cluster', async () => {
  expect(await stopCluster(new StateDirectory(join(state.path, 'none')), () => {})).toBe(false);
});
