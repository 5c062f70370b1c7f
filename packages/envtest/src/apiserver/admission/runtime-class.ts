/** RuntimeClass: a pod gets the overhead and the scheduling constraints of its runtime class. */

import { ownField } from '@tidegate/kube';
import { refusal } from '../operations/refusal.ts';
import type { RuntimeClass } from '../resources/classes/types.ts';
import type { Pod, Toleration } from '../resources/pod/types.ts';
import { semanticallyEqual } from '../resources/validation/equal.ts';
import { decodeStored } from '../served/codec.ts';
import type { Store } from '../store/types.ts';
import type { Plugin } from './plugin.ts';

const CONFLICT = 'conflict: runtimeClass.scheduling.nodeSelector';

export function runtimeClasses(store: Store): Plugin {
  return (attributes) => {
    const { operation, subresource, object, served } = attributes;
    if (operation !== 'CREATE' || subresource !== '' || object === undefined) return;
    if (served.definition.storage !== 'pods') return;
    const { spec } = object as unknown as Pod;
    const { runtimeClassName: name } = spec;
    if (name === undefined) {
      if (spec.overhead === undefined) return;
      throw refusal(
        attributes,
        'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead',
      );
    }
    const entry = store.get({ resource: 'node.k8s.io/runtimeclasses', namespace: '', name });
    if (entry === undefined) {
      throw refusal(attributes, `pod rejected: RuntimeClass ${JSON.stringify(name)} not found`);
    }
    const { overhead, scheduling } = decodeStored(entry) as RuntimeClass;
    if (spec.overhead !== undefined && !semanticallyEqual(spec.overhead, overhead?.podFixed)) {
      throw refusal(attributes, "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead");
    }
    if (overhead?.podFixed !== undefined) spec.overhead = { ...overhead.podFixed };
    for (const [key, value] of Object.entries(scheduling?.nodeSelector ?? {})) {
      const own = ownField(spec.nodeSelector, key);
      if (own !== undefined && own !== value) {
        throw refusal(attributes, `${CONFLICT}[${key}] = ${value}; pod.spec.nodeSelector[${key}] = ${own}`);
      }
      spec.nodeSelector = { ...spec.nodeSelector, [key]: value };
    }
    spec.tolerations = [
      ...(spec.tolerations ?? []),
      ...(scheduling?.tolerations ?? []).filter((added) => !has(spec.tolerations, added)),
    ];
    if (spec.tolerations.length === 0) delete spec.tolerations;
  };
}

const has = (tolerations: Toleration[] | undefined, wanted: Toleration): boolean =>
  (tolerations ?? []).some((toleration) => semanticallyEqual(toleration, wanted));
