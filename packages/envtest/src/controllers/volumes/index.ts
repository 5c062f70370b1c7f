/**
 * PersistentVolumes and PersistentVolumeClaims, with a local-path stand-in for storage.
 *
 * One claim of the default class: the scheduler chooses a node for its pod and writes it to the claim -> `claims.ts` creates
 * a volume for that node and binds both -> the node agent creates the directory -> when the claim is deleted, `volumes.ts`
 * deletes the volume. A claim of another class is bound to a matching volume (`match.ts`), or waits for one.
 */
import {
  Controller,
  isAlreadyExists,
  PERSISTENT_VOLUME_CLAIMS,
  PERSISTENT_VOLUMES,
  type PersistentVolumeClaim,
  STORAGE_CLASSES,
} from '@tidegate/kube';
import type { MakeController } from '../context.ts';
import { RETRIES } from '../retries.ts';
import { untilCacheCatchesUp } from '../stale-reads.ts';
import { Claims } from './claims.ts';
import { localPathClass } from './local-path.ts';
import { Volumes } from './volumes.ts';

export const claimController: MakeController = (context) => {
  const { client, informers, clock, metrics, log } = context;
  const claims = informers.for(PERSISTENT_VOLUME_CLAIMS);
  const volumes = informers.for(PERSISTENT_VOLUMES);
  const classes = informers.for(STORAGE_CLASSES);
  const recorder = context.recorderFor('persistentvolume-controller');
  const reconciler = new Claims({ client, recorder, volumes: volumes.cache, classes: classes.cache });
  const pending = (): string[] =>
    claims.cache
      .list()
      .filter(isPending)
      .map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return new Controller({
    name: 'persistentvolumeclaim',
    // One at a time: two claims must not choose the same volume.
    concurrency: 1,
    queue: RETRIES,
    clock,
    metrics,
    log,
    reconcile: untilCacheCatchesUp(async (key, signal) => {
      const claim = claims.cache.get(key);
      if (claim !== undefined && claim.metadata.deletionTimestamp === undefined) {
        await reconciler.reconcile(claim, signal);
      }
      return undefined;
    }),
  })
    .watch(claims)
    .watch(volumes, ({ spec }) => {
      const { namespace, name } = spec?.claimRef ?? {};
      // A free volume may be what any pending claim waits for.
      return name === undefined ? pending() : [`${namespace}/${name}`];
    })
    .watch(classes, pending);
};

export const volumeController: MakeController = ({ client, informers, clock, metrics, log }) => {
  const claims = informers.for(PERSISTENT_VOLUME_CLAIMS);
  const volumes = informers.for(PERSISTENT_VOLUMES);
  const reconciler = new Volumes({ client, claims: claims.cache, now: () => clock.now() });
  return new Controller({
    name: 'persistentvolume',
    concurrency: 5,
    queue: RETRIES,
    clock,
    metrics,
    log,
    reconcile: untilCacheCatchesUp(async (name, signal) => {
      const volume = volumes.cache.get(name);
      if (volume !== undefined) await reconciler.reconcile(volume, signal);
      return undefined;
    }),
  })
    .watch(volumes)
    .watch(claims, ({ spec }) => (spec?.volumeName ? [spec.volumeName] : []));
};

/** Creates the storage class when the controllers start. It is not created again after a user has deleted it. */
export const storageClassController: MakeController = ({ client, informers, clock, metrics, log }) => {
  const wanted = localPathClass();
  const controller = new Controller({
    name: 'local-path-class',
    concurrency: 1,
    queue: RETRIES,
    clock,
    metrics,
    log,
    reconcile: async (_, signal) => {
      try {
        await client.create(STORAGE_CLASSES, wanted, { signal });
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
    },
  }).watch(informers.for(STORAGE_CLASSES), () => []);
  controller.enqueue(wanted.metadata.name ?? '');
  return controller;
};

const isPending = ({ status, spec }: PersistentVolumeClaim): boolean =>
  status?.phase === 'Pending' && !spec?.volumeName;
