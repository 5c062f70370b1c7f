import { CommandError, fail } from './process.ts';
import { ask, stateOf } from './state.ts';

interface Options {
  state: string;
  all?: boolean;
}

/** What `cut` and `mend` do, each in its direction. */
export const linkAction =
  (command: 'cut' | 'mend') =>
  async (targets: string[], options: Options): Promise<void> => {
    try {
      const all = options.all === true;
      if (all === targets.length > 0) {
        throw new CommandError(
          `say which nodes to ${command}: names, pools or label selectors, or --all instead.`,
        );
      }
      const changed = (await ask(stateOf(options), { command, targets, all })) as string[];
      const [done, already] = command === 'cut' ? ['Cut', 'cut'] : ['Mended', 'up'];
      console.log(
        changed.length === 0
          ? `Nothing to do: the link is ${already} already.`
          : `${done}: ${changed.join(', ')}`,
      );
    } catch (error) {
      fail(error);
    }
  };
