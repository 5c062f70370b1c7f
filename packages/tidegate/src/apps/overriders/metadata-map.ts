import type { MapOverrider } from '../../api/index.ts';
import { mapAt, write } from '../json.ts';
import { lacking, type Overrider, overrideError } from './overrider.ts';

/** For labels and annotations of the object itself; those of its pods are changed by a patch. */
export const overrideMetadataMap =
  (field: 'labels' | 'annotations'): Overrider<MapOverrider> =>
  (object, { operator, value = {} }) => {
    const path = ['metadata', field];
    const present = mapAt(object, path);
    const keys = Object.keys(value);
    if (operator === 'add') {
      const other = keys.filter((key) => present[key] !== undefined && present[key] !== value[key]);
      if (other.length > 0) return overrideError(path, `${other.join(', ')} is set already: use replace`);
      return write(object, path, { ...present, ...value });
    }
    const missing = lacking(keys, Object.keys(present));
    if (missing === 'all') return undefined;
    if (missing.length > 0) return overrideError(path, `there is no ${missing.join(', ')} to ${operator}`);
    if (operator === 'replace') return write(object, path, { ...present, ...value });
    const kept = Object.entries(present).filter(([key]) => !keys.includes(key));
    return write(object, path, Object.fromEntries(kept));
  };
