import type { Pod } from '@tidegate/kube';

export type ReferencedKind = 'ConfigMap' | 'Secret';

/** An object that a pod needs before its containers can start. */
export interface Reference {
  kind: ReferencedKind;
  namespace: string;
  name: string;
}

/** The ConfigMaps and Secrets in a pod's volumes and environments, in order of appearance. */
export function podReferences(pod: Pod): Reference[] {
  const found = new Map<string, Reference>();
  const add = (kind: ReferencedKind, name: string | undefined): void => {
    if (name === undefined || name === '') return;
    const reference = { kind, namespace: pod.metadata.namespace ?? '', name };
    found.set(keyOfReference(reference), reference);
  };
  for (const { configMap, secret, projected } of pod.spec?.volumes ?? []) {
    add('ConfigMap', configMap?.name);
    add('Secret', secret?.secretName);
    for (const source of projected?.sources ?? []) {
      add('ConfigMap', source.configMap?.name);
      add('Secret', source.secret?.name);
    }
  }
  for (const { env = [], envFrom = [] } of [
    ...(pod.spec?.initContainers ?? []),
    ...(pod.spec?.containers ?? []),
  ]) {
    for (const { configMapRef, secretRef } of envFrom) {
      add('ConfigMap', configMapRef?.name);
      add('Secret', secretRef?.name);
    }
    for (const { valueFrom } of env) {
      add('ConfigMap', valueFrom?.configMapKeyRef?.name);
      add('Secret', valueFrom?.secretKeyRef?.name);
    }
  }
  return [...found.values()];
}

export const keyOfReference = ({ kind, namespace, name }: Reference): string =>
  `${kind}/${namespace}/${name}`;
