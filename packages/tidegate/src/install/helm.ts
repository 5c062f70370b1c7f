import type { KubeObject } from '@tidegate/kube';
import { nameOf, textOf } from './inventory.ts';

/** The first object that Helm has created, and its release. */
export function helmRelease(objects: readonly KubeObject[]): { object: string; release: string } | undefined {
  for (const object of objects) {
    const release = object.metadata.annotations?.['meta.helm.sh/release-name'];
    if (release !== undefined) return { object: textOf(nameOf(object)), release };
  }
  return undefined;
}
