import type { ResourcesOverrider } from '../../api/index.ts';
import { mapAt, write } from '../json.ts';
import { changeContainer, ITEMS_PER_STEP, type Overrider } from './overrider.ts';

/** Sets requests and limits of one container. Resources that the rule does not name keep their quantities. */
export const overrideResources: Overrider<ResourcesOverrider> = (
  object,
  { containerName, value },
  workload,
  charge,
) =>
  changeContainer(object, workload, containerName, (container) => {
    let changed = container;
    for (const [kind, quantities] of Object.entries(value)) {
      const path = ['resources', kind];
      charge(Object.keys(quantities ?? {}).length / ITEMS_PER_STEP);
      changed = write(changed, path, { ...mapAt(changed, path), ...quantities });
    }
    return changed;
  });
