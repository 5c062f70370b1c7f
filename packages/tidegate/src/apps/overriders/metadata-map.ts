import type { MapOverrider } from '../../api/index.ts';
import { mapAt, write } from '../json.ts';
import { lacking, type Overrider, overrideError } from './overrider.ts';

/**
 * Changes labels or annotations of the workload itself. Use a patch to change those of its pods. To add a key that
 * already has this value is not an error.
 */
export const overrideMetadataMap =
  (field: 'labels' | 'annotations'): Overrider<MapOverrider> =>
  (object, { operator, value = {} }) => {
    const path = ['metadata', field];
    const present = mapAt(object, path);
    const keys = Object.keys(value);
    if (operator === 'add') {
      const other = keys.filter((key) => Object.hasOwn(present, key) && present[key] !== value[key]);
      if (other.length > 0)
        return overrideError(path, `cannot add ${other.join(', ')}: already set; use operator replace`);
      return write(object, path, { ...present, ...value });
    }
    const missing = lacking(keys, Object.keys(present));
    if (missing === 'all') return undefined;
    if (missing.length > 0) return overrideError(path, `cannot ${operator} ${missing.join(', ')}: not found`);
    if (operator === 'replace') return write(object, path, { ...present, ...value });
    const kept = Object.entries(present).filter(([key]) => !keys.includes(key));
    return write(object, path, Object.fromEntries(kept));
  };
