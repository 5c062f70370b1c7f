import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, type KubeClient, type Logger, type Pod, Serial, systemClock } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { type PodPlace, VolumeError, type Volumes } from '../contracts.ts';
import type { Allocatable } from '../env/index.ts';
import { podReferences, type References } from '../references/index.ts';
import { replaceContents } from './atomic-directory.ts';
import { ClaimDirectories } from './claims.ts';
import { contentsOf } from './contents.ts';
import { linkMounts } from './mounts.ts';
import { type Payload, samePayload } from './payload.ts';
import { PodTokens } from './tokens.ts';

/** Options of {@link PodVolumes}. */
export interface PodVolumesOptions {
  client: KubeClient;
  /** Shared with the environments: the references of a pod are held from `mount` to `unmount`. */
  references: References;
  nodeIP: string;
  allocatable: () => Allocatable;
  log: Logger;
  clock?: Clock;
  /** Where the directories of PersistentVolumeClaims are. */
  claimsDirectory: string;
}

interface Mounted {
  pod: Pod;
  place: PodPlace;
  podIP: string;
  tokens: PodTokens;
  /** The contents of each volume's directory. */
  written: Map<string, Payload>;
  /** Serializes the writes of one pod. */
  work: Serial;
  refreshPending: boolean;
  cancelRenewal: () => void;
}

/** A lower limit, in case tokens have very short lifetimes. */
const MIN_RENEWAL_MS = 1_000;

/** Keeps the files of pods in line with the API until they are unmounted. */
export class PodVolumes implements Volumes {
  readonly #options: PodVolumesOptions;
  readonly #clock: Clock;
  readonly #mounted = new Map<string, Mounted>();
  readonly #claims: ClaimDirectories;

  constructor(options: PodVolumesOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const { client, claimsDirectory: directory, log } = options;
    this.#claims = new ClaimDirectories({ client, directory, clock: this.#clock, log });
    // A volume may have been deleted while no agent was running.
    this.#claims.sweepLater();
    options.references.onChange((uids) => {
      for (const uid of uids) this.#refresh(uid);
    });
  }

  async mount(pod: Pod, place: PodPlace, podIP: string): Promise<void> {
    const uid = pod.metadata.uid ?? '';
    this.#options.references.hold(uid, podReferences(pod));
    const mounted = this.#mounted.get(uid) ?? this.#newMounted(pod, place);
    this.#mounted.set(uid, mounted);
    Object.assign(mounted, { pod, place, podIP });
    await mounted.work.run(async () => {
      await this.#writeAll(mounted);
      await linkAll(mounted);
    });
  }

  async unmount(uid: string): Promise<void> {
    const mounted = this.#mounted.get(uid);
    this.#mounted.delete(uid);
    this.#options.references.release(uid);
    mounted?.cancelRenewal();
    await mounted?.work.idle();
    if (mounted !== undefined) this.#claims.release(mounted.place.directory);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#mounted.keys()].map((uid) => this.unmount(uid)));
    await this.#claims.close();
  }

  #newMounted(pod: Pod, place: PodPlace): Mounted {
    return {
      pod,
      place,
      podIP: '',
      tokens: new PodTokens(this.#options.client, this.#clock),
      written: new Map(),
      work: new Serial(),
      refreshPending: false,
      cancelRenewal: () => {},
    };
  }

  /** Called when a source of the files has changed. Several changes in a row become one refresh. */
  #refresh(uid: string): void {
    const mounted = this.#mounted.get(uid);
    if (mounted === undefined || mounted.refreshPending) return;
    mounted.refreshPending = true;
    mounted.work
      .run(async () => {
        mounted.refreshPending = false;
        if (this.#mounted.get(uid) === mounted) await this.#writeAll(mounted);
      })
      .catch((err: unknown) => {
        const { namespace, name } = mounted.pod.metadata;
        this.#options.log.warn(
          { err, pod: `${namespace}/${name}` },
          'cannot refresh the volumes of the pod; they keep their contents',
        );
      });
  }

  async #writeAll(mounted: Mounted): Promise<void> {
    const problems: unknown[] = [];
    for (const volume of usedVolumes(mounted.pod)) {
      // A volume that cannot be refreshed must not prevent the refresh of the others.
      await this.#write(mounted, volume).catch((error: unknown) => problems.push(error));
    }
    this.#scheduleRenewal(mounted);
    if (problems.length > 0) throw problems[0];
  }

  async #write(mounted: Mounted, volume: core.Volume): Promise<void> {
    const { references, nodeIP, allocatable } = this.#options;
    const { pod, place, podIP, tokens, written } = mounted;
    const directory = directoryOf(place, volume.name);
    try {
      const claim = volume.persistentVolumeClaim?.claimName;
      if (claim !== undefined) {
        await this.#claims.link(pod.metadata.namespace ?? '', claim, directory);
        return;
      }
      const sources = { pod, podIP, nodeIP, references, tokens, allocatable: allocatable() };
      const payload = await contentsOf(volume, sources);
      const before = written.get(volume.name);
      if (payload === undefined) await mkdir(directory, { recursive: true, mode: 0o700 });
      else if (before === undefined || !samePayload(before, payload)) {
        await replaceContents(directory, payload);
        written.set(volume.name, payload);
      }
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      throw new VolumeError(
        `MountVolume.SetUp failed for volume ${JSON.stringify(volume.name)} : ${message}`,
        {
          cause,
        },
      );
    }
  }

  #scheduleRenewal(mounted: Mounted): void {
    const uid = mounted.pod.metadata.uid ?? '';
    mounted.cancelRenewal();
    const { renewAt } = mounted.tokens;
    if (renewAt === Number.POSITIVE_INFINITY || this.#mounted.get(uid) !== mounted) return;
    const wait = Math.max(MIN_RENEWAL_MS, renewAt - this.#clock.now());
    mounted.cancelRenewal = this.#clock.after(wait, () => this.#refresh(uid));
  }
}

const directoryOf = (place: PodPlace, volume: string): string => join(place.directory, 'volumes', volume);

const containersOf = ({ spec }: Pod): core.Container[] => [
  ...(spec?.initContainers ?? []),
  ...(spec?.containers ?? []),
];

/** Like the kubelet, ignores volumes that no container mounts. */
function usedVolumes(pod: Pod): core.Volume[] {
  const used = new Set(
    containersOf(pod).flatMap(({ volumeMounts = [] }) => volumeMounts.map(({ name }) => name)),
  );
  return (pod.spec?.volumes ?? []).filter(({ name }) => used.has(name));
}

async function linkAll({ pod, place }: Mounted): Promise<void> {
  for (const container of containersOf(pod)) {
    const { root } = place.container(container.name);
    await linkMounts(container, root, (volume) => directoryOf(place, volume));
  }
}
