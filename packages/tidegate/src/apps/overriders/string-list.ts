import type { CommandArgsOverrider } from '../../api/index.ts';
import { listAt } from '../json.ts';
import { changeContainer, lacking, type Overrider, overrideError } from './overrider.ts';

/** Appends strings to the command or the arguments of one container, or removes equal strings from them. */
export const overrideStringList =
  (field: 'command' | 'args'): Overrider<CommandArgsOverrider> =>
  (object, { containerName, operator, value = [] }, workload) =>
    changeContainer(object, workload, containerName, (container, path) => {
      const present = listAt(container, [field]).map(String);
      if (operator === 'add') return { ...container, [field]: [...present, ...value] };
      const missing = lacking(value, present);
      if (missing === 'all') return undefined;
      if (missing.length > 0)
        return overrideError([...path, field], `cannot remove ${missing.join(', ')}: not found`);
      const removed = new Set(value);
      return { ...container, [field]: present.filter((word) => !removed.has(word)) };
    });
