import { CommandError, fail } from './process.ts';
import { ask, stateOf } from './state.ts';

interface Options {
  state: string;
  all?: boolean;
}

/** The action of `cut` and `mend`. */
export const linkAction =
  (command: 'cut' | 'mend') =>
  async (targets: string[], options: Options): Promise<void> => {
    try {
      const all = options.all === true;
      if (all === targets.length > 0) {
        throw new CommandError(
          `specify which nodes to ${command}: node names, pools or label selectors, or --all`,
        );
      }
      const changed = (await ask(stateOf(options), { command, targets, all })) as string[];
      const [done, already] = command === 'cut' ? ['Disconnected', 'cut'] : ['Reconnected', 'up'];
      console.log(
        changed.length === 0
          ? `Nothing to do: the links are already ${already}.`
          : `${done}: ${changed.join(', ')}`,
      );
    } catch (error) {
      fail(error);
    }
  };
