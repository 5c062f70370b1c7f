import { isJsonMap } from '@tidegate/kube';
import type { ResourcesOverrider } from '../../api/index.ts';
import { listAt, mapAt, write } from '../json.ts';
import { changeContainer, ITEMS_PER_STEP, type Overrider } from './overrider.ts';

/** Sets requests, limits and claims of one container. Resources and claims that the rule does not name stay. */
export const overrideResources: Overrider<ResourcesOverrider> = (
  object,
  { containerName, value },
  workload,
  charge,
) =>
  changeContainer(object, workload, containerName, (container) => {
    let changed = container;
    const { claims, ...amounts } = value;
    for (const [kind, quantities] of Object.entries(amounts)) {
      const path = ['resources', kind];
      charge(Object.keys(quantities ?? {}).length / ITEMS_PER_STEP);
      changed = write(changed, path, { ...mapAt(changed, path), ...quantities });
    }
    if (claims === undefined) return changed;
    const path = ['resources', 'claims'];
    const present = listAt(changed, path).filter(isJsonMap);
    charge((present.length + claims.length) / ITEMS_PER_STEP);
    const named = new Set<unknown>(claims.map(({ name }) => name));
    return write(changed, path, [...present.filter(({ name }) => !named.has(name)), ...claims]);
  });
