import { createHash } from 'node:crypto';
import type { OwnerReference } from '@tidegate/kube';
import { EDGE_APPLICATIONS, type EdgeApplication, type EdgeApplicationSpec } from '../api/index.ts';
import type { YurtApp } from './template.ts';

/** The name is also a label value. */
const MAX_NAME_LENGTH = 63;
const HASH_LENGTH = 8;

/** The name of the EdgeApplication of an application of OpenYurt, for example `web.yurtappset`. */
export function applicationNameOf({ kind, metadata }: Pick<YurtApp, 'kind' | 'metadata'>): string {
  const whole = `${metadata.name}.${kind.toLowerCase()}`;
  if (whole.length <= MAX_NAME_LENGTH) return whole;
  const hash = createHash('sha256').update(whole).digest('hex').slice(0, HASH_LENGTH);
  return `${whole.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1).replace(/[-.]+$/, '')}-${hash}`;
}

/** The EdgeApplication. The garbage collector deletes it with its owner. */
export const applicationOf = (app: YurtApp, spec: EdgeApplicationSpec): EdgeApplication => ({
  apiVersion: `${EDGE_APPLICATIONS.group}/${EDGE_APPLICATIONS.version}`,
  kind: 'EdgeApplication',
  metadata: {
    name: applicationNameOf(app),
    namespace: `${app.metadata.namespace}`,
    ownerReferences: [ownerReference(app)],
  },
  spec,
});

export const ownerReference = ({ apiVersion, kind, metadata }: YurtApp): OwnerReference => ({
  apiVersion,
  kind,
  name: `${metadata.name}`,
  uid: `${metadata.uid}`,
  controller: true,
  blockOwnerDeletion: true,
});

/** The controller that created the EdgeApplication. */
export const controllerUidOf = ({ metadata }: EdgeApplication): string | undefined =>
  metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid;
