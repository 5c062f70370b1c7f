/** Whether a pod may run on a node according to its claims, and which claims must be bound first. */
import type { PersistentVolume, PersistentVolumeClaim, Pod, StorageClass } from '@tidegate/kube';
import { selectedNode, waitsForPod } from '../volumes/local-path.ts';
import type { Filter } from './filters.ts';
import { matchesTerm } from './node-fit.ts';
import { unresolvable } from './rejection.ts';

/** Reads the caches. */
export interface VolumeView {
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  storageClass(name: string): StorageClass | undefined;
}

const claimKeys = ({ metadata, spec }: Pod): string[] =>
  (spec?.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined ? [] : [`${metadata.namespace}/${persistentVolumeClaim.claimName}`],
  );

export const hasClaims = (pod: Pod): boolean => claimKeys(pod).length > 0;

const isBound = ({ spec, status }: PersistentVolumeClaim): boolean =>
  Boolean(spec?.volumeName) && status?.phase === 'Bound';

/** Why no node can run the pod yet. */
export function claimProblem(pod: Pod, view: VolumeView): string | undefined {
  for (const key of claimKeys(pod)) {
    const claim = view.claim(key);
    const name = key.slice(key.indexOf('/') + 1);
    if (claim === undefined) return `persistentvolumeclaim ${JSON.stringify(name)} not found`;
    if (claim.metadata.deletionTimestamp !== undefined) {
      return `persistentvolumeclaim ${JSON.stringify(name)} is being deleted`;
    }
    if (claim.status?.phase === 'Lost') {
      return `persistentvolumeclaim ${JSON.stringify(name)} bound to non-existent persistentvolume ${JSON.stringify(claim.spec?.volumeName)}`;
    }
    if (!isBound(claim) && !waitsForPod(view.storageClass(claim.spec?.storageClassName ?? ''))) {
      return 'pod has unbound immediate PersistentVolumeClaims';
    }
  }
  return undefined;
}

/** A bound volume restricts the nodes, and so does a node that was selected for an unbound claim before. */
export function volumeFilter(pod: Pod, view: VolumeView): Filter {
  const claims = claimKeys(pod).flatMap((key) => view.claim(key) ?? []);
  const conflict = unresolvable("node(s) didn't match PersistentVolume's node affinity");
  return ({ node }) => {
    const fits = claims.every((claim) => {
      const chosen = selectedNode(claim);
      if (!isBound(claim)) return chosen === undefined || chosen === node.metadata.name;
      const required = view.volume(claim.spec?.volumeName ?? '')?.spec?.nodeAffinity?.required;
      return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
    });
    return fits ? undefined : conflict;
  };
}

/** The claims that need a volume on the chosen node before the pod can be bound. */
export const unboundClaims = (pod: Pod, view: VolumeView): PersistentVolumeClaim[] =>
  claimKeys(pod).flatMap((key) => {
    const claim = view.claim(key);
    return claim === undefined || isBound(claim) ? [] : [claim];
  });
