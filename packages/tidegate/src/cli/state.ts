import { resolve } from 'node:path';
import { Option } from 'commander';
import { askSupervisor, type ControlRequest, StateDirectory } from '../supervisor/index.ts';
import { CommandError } from './process.ts';

export const DEFAULT_STATE = '.tidegate';

/** The option that every command about the embedded cluster has. */
export const stateOption = (): Option =>
  new Option('--state <dir>', 'where the cluster is kept').default(DEFAULT_STATE);

export const stateOf = (options: { state: string }): StateDirectory =>
  new StateDirectory(resolve(options.state));

/** What the supervisor answers; a cluster that does not run is an error. */
export async function ask(state: StateDirectory, request: ControlRequest): Promise<unknown> {
  const answer = await askSupervisor(state, request);
  if (answer === undefined) {
    throw new CommandError(`no cluster is running in ${state.path}; start it with \`tidegate up\`.`);
  }
  return answer.result;
}
