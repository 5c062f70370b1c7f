import type { KubeObject } from '@tidegate/kube';
import { type ApiError, forbidden } from '@tidegate/serving';
import type { AdmissionAttributes } from './core.ts';

/** A 403 error in the words of kube-apiserver. It names the object, or the prefix of its generated name. */
export function refusal(attributes: AdmissionAttributes, why: string): ApiError {
  const { group, plural } = attributes.served.definition;
  return forbidden({ group, resource: plural }, nameOf(attributes), why);
}

function nameOf({ name, object }: AdmissionAttributes): string {
  const metadata = (object as KubeObject | undefined)?.metadata;
  return name || metadata?.name || metadata?.generateName || 'Unknown';
}
