import type { CommandArgsOverrider } from '../../api/index.ts';
import { listAt } from '../json.ts';
import {
  changeContainer,
  ITEMS_PER_STEP,
  lacking,
  listed,
  type Overrider,
  overrideError,
} from './overrider.ts';

/** Appends strings to the command or the arguments of one container, or removes equal strings from them. */
export const overrideStringList =
  (field: 'command' | 'args'): Overrider<CommandArgsOverrider> =>
  (object, { containerName, operator, value = [] }, workload, charge) =>
    changeContainer(object, workload, containerName, (container, path) => {
      const written = listAt(container, [field]);
      charge((written.length + value.length) / ITEMS_PER_STEP);
      // Text of lists and maps could be as long as the manifest. The API server rejects them.
      const present = written.map((word) => (typeof word === 'object' ? '' : String(word)));
      if (operator === 'add') return { ...container, [field]: [...present, ...value] };
      const missing = lacking(value, present);
      if (missing === 'all') return undefined;
      if (missing.length > 0)
        return overrideError([...path, field], `cannot remove ${listed(missing)}: not found`);
      const removed = new Set(value);
      return { ...container, [field]: present.filter((word) => !removed.has(word)) };
    });
