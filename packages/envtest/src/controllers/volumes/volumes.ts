/** Reconciles one PersistentVolume: its phase, and its deletion when its claim is gone. */
import {
  type Cache,
  isNotFound,
  type KubeClient,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from '@tidegate/kube';
import { LOCAL_PATH_DRIVER } from '../../local-path.ts';
import { timestamp } from '../timestamp.ts';
import { writeStatus } from '../write-status.ts';

export interface VolumesOptions {
  client: KubeClient;
  claims: Cache<PersistentVolumeClaim>;
  now(): number;
}

export class Volumes {
  readonly #options: VolumesOptions;

  constructor(options: VolumesOptions) {
    this.#options = options;
  }

  async reconcile(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { client, now } = this.#options;
    const phase = await this.#phaseOf(volume, signal);
    if (phase !== volume.status?.phase) {
      const status = { ...volume.status, phase, lastPhaseTransitionTime: timestamp(now()) };
      await writeStatus(client, PERSISTENT_VOLUMES, volume, status, signal);
    }
    if (phase === 'Released' && isOurs(volume)) {
      const { name = '', uid } = volume.metadata;
      await client.delete(PERSISTENT_VOLUMES, { name }, { preconditions: { uid }, signal });
    }
  }

  async #phaseOf({ spec }: PersistentVolume, signal: AbortSignal): Promise<string> {
    const { claimRef } = spec ?? {};
    // Without a uid, an administrator has only reserved the volume.
    if (!claimRef?.uid) return 'Available';
    const { namespace = '', name = '', uid } = claimRef;
    if (this.#options.claims.get(`${namespace}/${name}`)?.metadata.uid === uid) return 'Bound';
    // The cache may not show a new claim yet, and a volume must not be deleted because of that.
    const fresh = await this.#options.client
      .get(PERSISTENT_VOLUME_CLAIMS, { namespace, name }, { signal })
      .catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error)));
    return fresh?.metadata.uid === uid ? 'Bound' : 'Released';
  }
}

/** Volumes of other drivers are deleted by these drivers. */
const isOurs = ({ metadata, spec }: PersistentVolume): boolean =>
  spec?.persistentVolumeReclaimPolicy === 'Delete' &&
  spec.csi?.driver === LOCAL_PATH_DRIVER &&
  metadata.deletionTimestamp === undefined;
