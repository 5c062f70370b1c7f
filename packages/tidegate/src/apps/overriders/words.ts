import type { CommandArgsOverrider } from '../../api/index.ts';
import { listAt } from '../json.ts';
import { changeContainer, lacking, type Overrider, overrideError } from './overrider.ts';

/** For lists of words of one container: appends, or removes those that are equal. */
export const overrideWords =
  (field: 'command' | 'args'): Overrider<CommandArgsOverrider> =>
  (object, { containerName, operator, value = [] }, workload) =>
    changeContainer(object, workload, containerName, (container, path) => {
      const present = listAt(container, [field]).map(String);
      if (operator === 'add') return { ...container, [field]: [...present, ...value] };
      const missing = lacking(value, present);
      if (missing === 'all') return undefined;
      if (missing.length > 0)
        return overrideError([...path, field], `there is no ${missing.join(', ')} to remove`);
      return { ...container, [field]: present.filter((word) => !value.includes(word)) };
    });
