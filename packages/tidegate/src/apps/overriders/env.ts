import { isJsonMap, type JsonMap } from '@tidegate/kube';
import type { EnvOverrider } from '../../api/index.ts';
import { listAt } from '../json.ts';
import { changeContainer, lacking, type Overrider, overrideError } from './overrider.ts';

/** Environment variables of one container, in the order in which they were written. `replace` also adds. */
export const overrideEnv: Overrider<EnvOverrider> = (object, rule, workload) =>
  changeContainer(object, workload, rule.containerName, (container, at) => {
    const path = [...at, 'env'];
    const present = listAt(container, ['env']).filter(isJsonMap);
    const names = present.map(({ name }) => String(name));
    const variables = rule.value ?? [];
    const wanted = variables.map(({ name }) => name);
    switch (rule.operator) {
      case 'add': {
        const twice = wanted.filter((name) => names.includes(name));
        if (twice.length > 0) return overrideError(path, `${twice.join(', ')} is set already: use replace`);
        return { ...container, env: [...present, ...variables] };
      }
      case 'replace': {
        const replaced = present.map((old) => variables.find(({ name }) => name === old.name) ?? old);
        const added = variables.filter(({ name }) => !names.includes(name));
        return { ...container, env: [...replaced, ...added] };
      }
      case 'remove': {
        const missing = lacking(wanted, names);
        if (missing === 'all') return undefined;
        if (missing.length > 0) return overrideError(path, `there is no ${missing.join(', ')} to remove`);
        return { ...container, env: present.filter((old: JsonMap) => !wanted.includes(String(old.name))) };
      }
    }
  });
