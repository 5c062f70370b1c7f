import type { KubeObject, Pod } from '@tidegate/kube';
import type { PodSpec, PodTemplateSpec } from 'kubernetes-types/core/v1.d.ts';
import { controllerReference } from './owners.ts';

/** What the owner sets in addition to the template. */
export interface PodExtra {
  /** Without a name, the API server generates one from the owner's name. */
  name?: string;
  nodeName?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  /** Overrides fields of the template's spec. */
  spec?: Partial<PodSpec>;
}

/** A pod from the template, controlled by `owner` and not created yet. It is a deep copy of the template. */
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
