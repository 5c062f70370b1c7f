import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { identify } from '@tidegate/disk';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { callerFor } from './caller.ts';
import { type ControlHandler, ControlServer, callSupervisor } from './control.ts';
import { StateDirectory } from './state.ts';

let state: StateDirectory;
beforeEach(async () => {
  state = new StateDirectory(await mkdtemp(join(tmpdir(), 'tidegate control ')));
  // This process holds the lock of the state directory, as a supervisor does.
  await writeFile(join(state.path, 'lock-1'), JSON.stringify(await identify(process.pid)));
});
afterEach(() => rm(state.path, { recursive: true, force: true }));

async function serve(handle: ControlHandler): Promise<void> {
  const control = await ControlServer.listen(state.socket, handle);
  onTestFinished(() => control.close());
}

it('returns the reply after the progress', async () => {
  const lines: string[] = [];
  await serve(async ({ command }, progress) => {
    progress('half');
    return { command };
  });
  const answer = await callSupervisor(
    state,
    { command: 'status' },
    { onAccepted: () => lines.push('accepted'), onProgress: (line) => lines.push(line) },
  );
  expect(answer).toEqual({ result: { command: 'status' } });
  expect(lines).toEqual(['accepted', 'half']);
});

it('rejects with the error of the supervisor', async () => {
  await serve(async () => {
    throw new Error('no such node');
  });
  await expect(callSupervisor(state, { command: 'status' })).rejects.toThrow('no such node');
});

/** The reply is written to a closed connection, which must not end the supervisor. */
it('gives up a supervisor that does not reply in time', async () => {
  const silence = new AbortController();
  let release = (): void => {};
  await serve(() => {
    silence.abort();
    return new Promise<void>((resolve) => {
      release = resolve;
    });
  });
  await expect(callSupervisor(state, { command: 'status' }, { signal: silence.signal })).rejects.toThrow(
    `a cluster is running in '${state.path}' (pid ${process.pid}), but it does not respond (it does not reply); stop it with \`${callerFor(state.path)('down')}\``,
  );
  release();
});

it('returns undefined if no supervisor runs', async () => {
  await rm(join(state.path, 'lock-1'));
  expect(await callSupervisor(state, { command: 'status' })).toBeUndefined();
});
