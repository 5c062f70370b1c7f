/** Reconciles one PersistentVolumeClaim: finds or provisions its volume, binds both, and reports the phase. */
import {
  type Cache,
  compareQuantities,
  type EventRecorder,
  isAlreadyExists,
  type KubeClient,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
  type StorageClass,
} from '@tidegate/kube';
import { writeStatus } from '../write-status.ts';
import { isLocalPath, provisionedVolume, selectedNode, waitsForPod } from './local-path.ts';
import { capacityOf, findVolume, isReservedFor, requestOf } from './match.ts';

const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes', 'pv.kubernetes.io/bound-by-controller': 'yes' };
const WAITING = 'waiting for first consumer to be created before binding';
const NO_VOLUME = 'no persistent volumes available for this claim and no storage class is set';

export interface ClaimsOptions {
  client: KubeClient;
  recorder: EventRecorder;
  volumes: Cache<PersistentVolume>;
  classes: Cache<StorageClass>;
}

export class Claims {
  readonly #options: ClaimsOptions;

  constructor(options: ClaimsOptions) {
    this.#options = options;
  }

  async reconcile(claim: PersistentVolumeClaim, signal: AbortSignal): Promise<void> {
    const name = claim.spec?.volumeName;
    if (name) return this.#bound(claim, this.#options.volumes.get(name), signal);
    const storageClass = this.#options.classes.get(claim.spec?.storageClassName ?? '');
    // A volume that is bound before the pod has a node may be on the wrong node.
    const mayBind = !waitsForPod(storageClass) || selectedNode(claim) !== undefined;
    const found = findVolume(claim, this.#options.volumes.list());
    if (found !== undefined && (mayBind || found.spec?.claimRef !== undefined)) {
      return this.#bind(claim, found, signal);
    }
    if (!mayBind) return this.#report(claim, 'WaitForFirstConsumer', WAITING);
    if (storageClass !== undefined && isLocalPath(storageClass))
      return this.#provision(claim, storageClass, signal);
    if (storageClass === undefined) return this.#report(claim, 'FailedBinding', NO_VOLUME);
    this.#report(
      claim,
      'ExternalProvisioning',
      `Waiting for a volume to be created either by the external provisioner '${storageClass.provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered.`,
    );
  }

  #report(claim: PersistentVolumeClaim, reason: string, message: string): void {
    this.#options.recorder.normal(claim, reason, message);
  }

  async #provision(
    claim: PersistentVolumeClaim,
    storageClass: StorageClass,
    signal: AbortSignal,
  ): Promise<void> {
    const volume = provisionedVolume(claim, storageClass);
    try {
      await this.#options.client.create(PERSISTENT_VOLUMES, volume, { signal });
    } catch (error) {
      // The event of the volume is on its way and enqueues the claim again.
      if (!isAlreadyExists(error)) throw error;
    }
    this.#report(claim, 'ProvisioningSucceeded', `Successfully provisioned volume ${volume.metadata.name}`);
  }

  /** Each step can be repeated: first the volume refers to the claim, then the claim to the volume. */
  async #bind(claim: PersistentVolumeClaim, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const { namespace, name, uid } = claim.metadata;
    if (volume.spec?.claimRef?.uid !== uid) {
      const claimRef = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
      await client.update(PERSISTENT_VOLUMES, { ...volume, spec: { ...volume.spec, claimRef } }, { signal });
    }
    const metadata = { ...claim.metadata, annotations: { ...claim.metadata.annotations, ...BOUND } };
    const spec = { ...claim.spec, volumeName: volume.metadata.name };
    const updated = await client.update(PERSISTENT_VOLUME_CLAIMS, { ...claim, metadata, spec }, { signal });
    await this.#bound(updated, volume, signal);
  }

  async #bound(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#options;
    const wasBound = claim.metadata.annotations?.['pv.kubernetes.io/bind-completed'] !== undefined;
    // A claim can name its volume before the volume exists.
    if (volume === undefined && !wasBound) return;
    if (volume === undefined || (wasBound && !isReservedFor(volume, claim))) {
      await writeStatus(client, PERSISTENT_VOLUME_CLAIMS, claim, { phase: 'Lost' }, signal);
      return;
    }
    if (!wasBound) {
      const isFree = volume.spec?.claimRef === undefined || isReservedFor(volume, claim);
      return isFree ? this.#bind(claim, volume, signal) : undefined;
    }
    const grown = await this.#expand(claim, volume, signal);
    await writeStatus(
      client,
      PERSISTENT_VOLUME_CLAIMS,
      claim,
      {
        ...claim.status,
        phase: 'Bound',
        accessModes: grown.spec?.accessModes,
        capacity: { storage: grown.spec?.capacity?.storage ?? '0' },
      },
      signal,
    );
  }

  /** A directory has no size of its own, so a volume of the local-path class grows at once. */
  async #expand(
    claim: PersistentVolumeClaim,
    volume: PersistentVolume,
    signal: AbortSignal,
  ): Promise<PersistentVolume> {
    const isTooSmall = compareQuantities(capacityOf(volume), requestOf(claim)) < 0;
    const storageClass = this.#options.classes.get(volume.spec?.storageClassName ?? '');
    if (!isTooSmall || !isLocalPath(storageClass)) return volume;
    const capacity = { storage: claim.spec?.resources?.requests?.storage ?? '0' };
    return this.#options.client.update(
      PERSISTENT_VOLUMES,
      { ...volume, spec: { ...volume.spec, capacity } },
      { signal },
    );
  }
}
