/** Which volume a claim can use. Pure. */
import {
  compareQuantities,
  matcherFromSelector,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseQuantity,
  type Quantity,
} from '@tidegate/kube';

const ZERO: Quantity = { nanos: 0n, format: 'decimal' };

const sizeOf = (text: string | undefined): Quantity => parseQuantity(String(text ?? '0')) ?? ZERO;

export const capacityOf = ({ spec }: PersistentVolume): Quantity => sizeOf(spec?.capacity?.storage);
export const requestOf = ({ spec }: PersistentVolumeClaim): Quantity =>
  sizeOf(spec?.resources?.requests?.storage);

/** True if the volume belongs to the claim, or was reserved for it by its name. */
export function isReservedFor({ spec }: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { namespace, name, uid } = spec?.claimRef ?? {};
  if (namespace !== claim.metadata.namespace || name !== claim.metadata.name) return false;
  return uid === undefined || uid === '' || uid === claim.metadata.uid;
}

/** True if the volume has what the claim asks for, whether or not it is in use. */
function satisfies(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  const { spec = {} } = volume;
  const wanted = claim.spec ?? {};
  const modes: readonly string[] = spec.accessModes ?? [];
  return (
    (spec.storageClassName ?? '') === (wanted.storageClassName ?? '') &&
    (spec.volumeMode ?? 'Filesystem') === (wanted.volumeMode ?? 'Filesystem') &&
    (wanted.accessModes ?? []).every((mode) => modes.includes(mode)) &&
    compareQuantities(capacityOf(volume), requestOf(claim)) >= 0 &&
    (wanted.selector === undefined || matcherFromSelector(wanted.selector).matches(volume.metadata.labels))
  );
}

/** The volume that is reserved for the claim, otherwise the smallest free one that satisfies it. */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: readonly PersistentVolume[],
): PersistentVolume | undefined {
  const usable = volumes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const reserved = usable.find((volume) => isReservedFor(volume, claim));
  if (reserved !== undefined) return reserved;
  return usable
    .filter(
      (volume) =>
        volume.spec?.claimRef === undefined &&
        volume.status?.phase === 'Available' &&
        satisfies(volume, claim),
    )
    .sort((a, b) => compareQuantities(capacityOf(a), capacityOf(b)))[0];
}
