import type { MapOverrider } from '../../api/index.ts';
import { mapAt, write } from '../json.ts';
import { ITEMS_PER_STEP, lacking, listed, type Overrider, overrideError } from './overrider.ts';

/**
 * Changes labels or annotations of the workload itself. Use a patch to change those of its pods. To add a key that
 * already has this value is not an error.
 */
export const overrideMetadataMap =
  (field: 'labels' | 'annotations'): Overrider<MapOverrider> =>
  (object, { operator, value = {} }, _workload, charge) => {
    const path = ['metadata', field];
    const present = mapAt(object, path);
    const keys = Object.keys(value);
    charge((keys.length + Object.keys(present).length) / ITEMS_PER_STEP);
    if (operator === 'add') {
      const other = keys.filter((key) => Object.hasOwn(present, key) && present[key] !== value[key]);
      if (other.length > 0)
        return overrideError(path, `cannot add ${listed(other)}: already set; use operator replace`);
      return write(object, path, { ...present, ...value });
    }
    const missing = lacking(keys, Object.keys(present));
    if (missing === 'all') return undefined;
    if (missing.length > 0) return overrideError(path, `cannot ${operator} ${listed(missing)}: not found`);
    if (operator === 'replace') return write(object, path, { ...present, ...value });
    const kept = Object.entries(present).filter(([key]) => !Object.hasOwn(value, key));
    return write(object, path, Object.fromEntries(kept));
  };
