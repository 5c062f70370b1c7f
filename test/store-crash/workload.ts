/** What the writer writes and the test expects: every value can be derived from its revision. */
import type { Key } from '@tidegate/envtest/store';

/** An acknowledged write. The writer prints each on its own line. */
export interface Acknowledged {
  type: 'put' | 'delete';
  name: string;
  revision: number;
}

/** The key of a ConfigMap in the namespace `default`. */
export function configMap(name: string): Key {
  return { resource: 'configmaps', namespace: 'default', name };
}

/** Values of many sizes, from a few bytes to more than a page. */
export function valueAt(revision: number): Buffer {
  return Buffer.from(JSON.stringify({ revision, filler: 'x'.repeat((revision * 7919) % 6000) }));
}
