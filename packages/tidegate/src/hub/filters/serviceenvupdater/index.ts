/**
 * Replaces KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT where a pod sets them itself. Some clusters write them into
 * pods with a webhook, and the kubelet does not overwrite variables of the pod, so masterservice has no effect there.
 * Nothing is added to containers without these variables.
 */

import type { Pod } from '@tidegate/kube';
import { KUBELET_USER_AGENT } from '../../../api/index.ts';
import type { Filter, FilterContext } from '../filter.ts';
import { POD } from '../resources.ts';

const CONTAINER_LISTS = ['initContainers', 'containers', 'ephemeralContainers'] as const;

interface Variable {
  name: string;
  value?: string;
}
interface Container {
  env?: readonly Variable[];
}

export const serviceEnvUpdater: Filter = {
  name: 'serviceenvupdater',
  components: [KUBELET_USER_AGENT],
  resources: POD,
  // The kubelet patches the status of pods, and uses the response as the current pod.
  verbs: ['get', 'list', 'watch', 'patch'],
  apply(object, context) {
    const { spec } = object as Pod;
    if (spec === undefined) return object;
    const wanted = hubVariables(context);
    const changed = CONTAINER_LISTS.flatMap((list) => {
      const containers: readonly Container[] = spec[list] ?? [];
      const updated = mapChanged(containers, (container) => updateContainer(container, wanted));
      return updated === containers ? [] : [[list, updated]];
    });
    if (changed.length === 0) return object;
    return { ...object, spec: { ...spec, ...Object.fromEntries(changed) } };
  },
};

const hubVariables = ({ hub }: FilterContext): ReadonlyMap<string, Variable> => {
  const variables = [
    { name: 'KUBERNETES_SERVICE_HOST', value: hub.host },
    { name: 'KUBERNETES_SERVICE_PORT', value: String(hub.port) },
  ];
  return new Map(variables.map((variable) => [variable.name, variable]));
};

function updateContainer(container: Container, wanted: ReadonlyMap<string, Variable>): Container {
  const env = container.env ?? [];
  // The whole variable is replaced: a `valueFrom` next to `value` would be invalid.
  const updated = mapChanged(env, (variable) => wanted.get(variable.name) ?? variable);
  return updated === env ? container : { ...container, env: updated };
}

/** Like `map`, but returns the same list if nothing changes. */
function mapChanged<T>(items: readonly T[], map: (item: T) => T): readonly T[] {
  const mapped = items.map(map);
  return mapped.some((item, index) => item !== items[index]) ? mapped : items;
}
