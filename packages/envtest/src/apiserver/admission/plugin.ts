/** What every admission plugin is made of. */
import type { KubeObject } from '@tidegate/kube';
import { type ApiError, forbidden } from '@tidegate/serving';
import type { AdmissionAttributes } from '../operations/core.ts';

/** A check; it throws to refuse, and may change `attributes.object` where it is called for mutation. */
export type Plugin = (attributes: AdmissionAttributes) => void;

/** `networking.k8s.io/ingresses`, `pods` */
export const resourceOf = ({ served }: AdmissionAttributes): string => {
  const { group, plural } = served.definition;
  return group === '' ? plural : `${group}/${plural}`;
};

/** 403 with the words that admission uses: the object by its name, or by what its name will begin with. */
export function refusal(attributes: AdmissionAttributes, why: string): ApiError {
  const { group, plural } = attributes.served.definition;
  return forbidden({ group, resource: plural }, nameOf(attributes), why);
}

function nameOf({ name, object }: AdmissionAttributes): string {
  const metadata = (object as KubeObject | undefined)?.metadata;
  return name || metadata?.name || metadata?.generateName || 'Unknown';
}
