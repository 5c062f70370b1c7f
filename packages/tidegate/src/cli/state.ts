import { resolve } from 'node:path';
import { Option } from 'commander';
import { type ControlRequest, callSupervisor, StateDirectory } from '../supervisor/index.ts';
import { CommandError } from './process.ts';

export const DEFAULT_STATE = '.tidegate';

/** The option that all commands for the embedded cluster share. */
export const stateOption = (): Option =>
  new Option('--state <dir>', 'state directory of the cluster').default(DEFAULT_STATE);

export const stateOf = (options: { state: string }): StateDirectory =>
  new StateDirectory(resolve(options.state));

/** Sends a request to the supervisor and returns its result; fails when no cluster is running. */
export async function ask(state: StateDirectory, request: ControlRequest): Promise<unknown> {
  const answer = await callSupervisor(state, request);
  if (answer === undefined) {
    throw new CommandError(`no cluster is running in ${state.path}; start one with \`tidegate up\``);
  }
  return answer.result;
}
