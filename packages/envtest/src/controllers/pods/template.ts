import type { KubeObject, Pod } from '@tidegate/kube';
import type { PodSpec, PodTemplateSpec } from 'kubernetes-types/core/v1.d.ts';
import { controllerReference } from './owners.ts';

/** What an owner decides beyond its template. */
export interface PodExtra {
  /** Without one the server chooses a name that begins with the owner's. */
  name?: string;
  nodeName?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  /** Replaces fields of the template's spec. */
  spec?: Partial<PodSpec>;
}

/** A pod as the template describes it, controlled by `owner` and not created yet. Shares nothing with the template. */
export function podFromTemplate(owner: KubeObject, template: PodTemplateSpec, extra: PodExtra = {}): Pod {
  const { metadata = {}, spec } = structuredClone(template);
  const named = extra.name === undefined ? { generateName: `${owner.metadata.name}-` } : { name: extra.name };
  const placed = extra.nodeName === undefined ? {} : { nodeName: extra.nodeName };
  const finalizers = [...(metadata.finalizers ?? []), ...(extra.finalizers ?? [])];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      ...named,
      namespace: owner.metadata.namespace,
      labels: { ...metadata.labels, ...extra.labels },
      annotations: { ...metadata.annotations, ...extra.annotations },
      ...(finalizers.length === 0 ? {} : { finalizers }),
      ownerReferences: [controllerReference(owner)],
    },
    spec: { containers: [], ...spec, ...extra.spec, ...placed },
  };
}
