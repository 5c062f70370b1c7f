import { resolve } from 'node:path';
import { quotePath } from '@tidegate/disk';
import { type ControlRequest, callerFor, callSupervisor, StateDirectory } from '../supervisor/index.ts';
import { CommandError } from './process.ts';

export const stateOf = (options: { state: string }): StateDirectory =>
  new StateDirectory(resolve(options.state));

/** Sends a request to the supervisor and returns its result; fails when no cluster is running. */
export async function ask(state: StateDirectory, request: ControlRequest): Promise<unknown> {
  const answer = await callSupervisor(state, request);
  if (answer === undefined) {
    throw new CommandError(
      `no cluster is running in ${quotePath(state.path)}; start one with \`${callerFor(state.path)('up')}\``,
    );
  }
  return answer.result;
}
