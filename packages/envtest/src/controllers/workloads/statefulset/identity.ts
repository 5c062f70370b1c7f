import type { ControllerRevision, Pod, StatefulSet } from '@tidegate/kube';
import type { PodTemplateSpec, Volume } from 'kubernetes-types/core/v1.d.ts';
import { podFromTemplate } from '../../pods/index.ts';
import { templateOf } from '../revisions/revision.ts';

/** The label that names the revision of the template from which a pod was created. */
export const REVISION = 'controller-revision-hash';
const POD_NAME = 'statefulset.kubernetes.io/pod-name';
const POD_INDEX = 'apps.kubernetes.io/pod-index';

/** The ordinal of the first pod. */
export const startOrdinal = ({ spec }: StatefulSet): number => spec?.ordinals?.start ?? 0;

/** The ordinal in the pod's name; undefined when it is not the name of a pod of this set. */
export function ordinalOf({ metadata }: StatefulSet, { metadata: { name = '' } }: Pod): number | undefined {
  const prefix = `${metadata.name}-`;
  const suffix = name.startsWith(prefix) ? name.slice(prefix.length) : '';
  return /^(0|[1-9][0-9]*)$/.test(suffix) ? Number(suffix) : undefined;
}

/** The name of the revision that the pod was created from. */
export const revisionOf = ({ metadata }: Pod): string => metadata.labels?.[REVISION] ?? '';

/** The pod with this ordinal. Its name, host name and DNS name in the headless Service never change. */
export function newPod(set: StatefulSet, ordinal: number, revision: ControllerRevision): Pod {
  const template = templateOf(revision);
  const name = `${set.metadata.name}-${ordinal}`;
  return podFromTemplate(set, template, {
    name,
    labels: {
      [POD_NAME]: name,
      [POD_INDEX]: String(ordinal),
      [REVISION]: revision.metadata.name ?? '',
    },
    spec: {
      hostname: name,
      subdomain: set.spec?.serviceName || undefined,
      volumes: volumesOf(set, ordinal, template),
    },
  });
}

/** The volumes of the claims, whose names contain the ordinal, so that a new pod gets the data of the old one. */
function volumesOf(set: StatefulSet, ordinal: number, template: PodTemplateSpec): Volume[] | undefined {
  const claimed: Volume[] = claimTemplates(set).map(({ metadata }) => ({
    name: metadata?.name ?? '',
    persistentVolumeClaim: { claimName: claimName(set, metadata?.name ?? '', ordinal) },
  }));
  const own = (template.spec?.volumes ?? []).filter(
    ({ name }) => !claimed.some((claim) => claim.name === name),
  );
  const volumes = [...claimed, ...own];
  return volumes.length === 0 ? undefined : volumes;
}

export const claimTemplates = ({ spec }: StatefulSet) => spec?.volumeClaimTemplates ?? [];

/** For example `data-web-0`. */
export const claimName = ({ metadata }: StatefulSet, template: string, ordinal: number): string =>
  `${template}-${metadata.name}-${ordinal}`;
