import { isJsonMap, type JsonMap } from '@tidegate/kube';
import type { EnvOverrider } from '../../api/index.ts';
import { listAt } from '../json.ts';
import {
  changeContainer,
  ITEMS_PER_STEP,
  lacking,
  listed,
  type Overrider,
  overrideError,
} from './overrider.ts';

/**
 * Changes environment variables of one container. `replace` also adds variables that are not set. The order of existing
 * variables is kept, because a variable can refer only to variables before it (`$(NAME)`).
 */
export const overrideEnv: Overrider<EnvOverrider> = (object, rule, workload, charge) =>
  changeContainer(object, workload, rule.containerName, (container, at) => {
    const path = [...at, 'env'];
    const present = listAt(container, ['env']).filter(isJsonMap);
    const variables = rule.value ?? [];
    charge((present.length + variables.length) / ITEMS_PER_STEP);
    const names = present.map(({ name }) => nameOf(name));
    const known = new Set(names);
    const wanted = variables.map(({ name }) => name);
    switch (rule.operator) {
      case 'add': {
        const taken = wanted.filter((name) => known.has(name));
        if (taken.length > 0)
          return overrideError(path, `cannot add ${listed(taken)}: already set; use operator replace`);
        return { ...container, env: [...present, ...variables] };
      }
      case 'replace': {
        // The first of several variables with one name counts.
        const byName = new Map<unknown, JsonMap>(variables.toReversed().map((one) => [one.name, { ...one }]));
        const replaced = present.map((old) => byName.get(old.name) ?? old);
        const added = variables.filter(({ name }) => !known.has(name));
        return { ...container, env: [...replaced, ...added] };
      }
      case 'remove': {
        const missing = lacking(wanted, names);
        if (missing === 'all') return undefined;
        if (missing.length > 0) return overrideError(path, `cannot remove ${listed(missing)}: not found`);
        const removed = new Set(wanted);
        return { ...container, env: present.filter((old: JsonMap) => !removed.has(nameOf(old.name))) };
      }
    }
  });

/** Only strings are names. The text of anything else could be as long as the manifest. */
const nameOf = (name: unknown): string => (typeof name === 'string' ? name : '');
