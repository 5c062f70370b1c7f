/**
 * The directories of PersistentVolumeClaims: `STATE/claims/<volume>`. A pod's volume is a link to one of them, so the data
 * stays when the pod is deleted. Once its PersistentVolume is deleted, the directory is removed.
 */
import { mkdir, readdir, readlink, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import {
  type Clock,
  isNotFound,
  type KubeClient,
  type Logger,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
} from '@tidegate/kube';
import { LOCAL_PATH_CLASS, LOCAL_PATH_DRIVER } from '../../local-path.ts';
import { VolumeError } from '../contracts.ts';

/** How often the volumes of unused directories are looked up. */
const SWEEP_MS = 5 * 60_000;

export interface ClaimDirectoriesOptions {
  client: KubeClient;
  directory: string;
  clock: Clock;
  log: Logger;
}

export class ClaimDirectories {
  readonly #options: ClaimDirectoriesOptions;
  /** The directories that pods use, by the link of the pod. */
  readonly #inUse = new Map<string, string>();
  #cancelSweep: (() => void) | undefined;
  #sweeping: Promise<void> = Promise.resolve();
  #closed = false;

  constructor(options: ClaimDirectoriesOptions) {
    this.#options = options;
  }

  /** Links `path` to the directory of the claim. Rejects with a VolumeError if it has no volume on this node. */
  async link(namespace: string, claim: string, path: string): Promise<void> {
    // A pod can be started again without the API server: the link is still there.
    const known = await readlink(path).catch(() => undefined);
    const target = known ?? join(this.#options.directory, await this.#volumeOf(namespace, claim));
    await mkdir(target, { recursive: true, mode: 0o700 });
    this.#inUse.set(path, basename(target));
    if (known !== undefined) return;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await symlink(target, path);
  }

  /** The pod that has these links is gone. */
  release(prefix: string): void {
    for (const path of this.#inUse.keys()) if (path.startsWith(prefix)) this.#inUse.delete(path);
    this.sweepLater();
  }

  /** Removes the directories of deleted volumes, now and then until none is unused. */
  sweepLater(ms = SWEEP_MS): void {
    if (this.#closed || this.#cancelSweep !== undefined) return;
    this.#cancelSweep = this.#options.clock.after(ms, () => {
      this.#cancelSweep = undefined;
      this.#sweeping = this.#sweep().catch((err: unknown) => {
        this.#options.log.warn({ err }, 'cannot remove the directories of deleted volumes; trying again');
        this.sweepLater();
      });
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelSweep?.();
    await this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { client, directory } = this.#options;
    const names = await readdir(directory).catch(() => []);
    const used = new Set(this.#inUse.values());
    let kept = 0;
    for (const name of names.filter((one) => !used.has(one))) {
      const isGone = await client.get(PERSISTENT_VOLUMES, { name }).then(
        () => false,
        (error: unknown) => (isNotFound(error) ? true : Promise.reject(error)),
      );
      if (isGone) await rm(join(directory, name), { recursive: true, force: true });
      else kept++;
    }
    if (kept > 0) this.sweepLater();
  }

  async #volumeOf(namespace: string, name: string): Promise<string> {
    const { client } = this.#options;
    const claim = await client.get(PERSISTENT_VOLUME_CLAIMS, { namespace, name });
    const volumeName = claim.spec?.volumeName ?? '';
    if (volumeName === '' || claim.status?.phase !== 'Bound') {
      throw new VolumeError(`persistentvolumeclaim ${JSON.stringify(name)} is not bound to a volume yet`);
    }
    const volume = await client.get(PERSISTENT_VOLUMES, { name: volumeName });
    if (volume.spec?.csi?.driver !== LOCAL_PATH_DRIVER) {
      throw new VolumeError(
        `persistentvolume ${JSON.stringify(volumeName)} is not a directory of this node: this cluster supports only volumes of the storage class ${LOCAL_PATH_CLASS}`,
      );
    }
    return volumeName;
  }
}
