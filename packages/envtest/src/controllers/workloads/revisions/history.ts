import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  type Informer,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  matcherFromSelector,
  type Resource,
} from '@tidegate/kube';
import { claim, claimable, indexByController, isControlledBy } from '../../pods/index.ts';
import { holds, newRevision, planRevision, type Revised, surplusRevisions } from './revision.ts';

/** Where revisions are stored, and how they are marked. */
export interface HistoryOptions {
  client: KubeClient;
  revisions: Informer<ControllerRevision>;
  ownerResource: Resource;
  /** The label of a revision that holds its hash. */
  hashLabel: string;
}

/** The revisions of an owner after the current template was recorded. */
export interface History {
  /** The revision of the owner's current template. */
  update: ControllerRevision;
  /** All revisions, including `update`. */
  revisions: ControllerRevision[];
  collisionCount: number | undefined;
}

/** Keeps one ControllerRevision for each template that an owner has had, for rollouts and rollbacks. */
export class RevisionHistory {
  readonly #options: HistoryOptions;

  constructor(options: HistoryOptions) {
    this.#options = options;
    indexByController(options.revisions);
  }

  async sync(owner: Revised, signal: AbortSignal): Promise<History> {
    const { client, revisions, ownerResource } = this.#options;
    const selector = matcherFromSelector(owner.spec?.selector);
    const candidates = claimable(revisions.cache, owner);
    const resource = CONTROLLER_REVISIONS;
    const known = await claim({ client, owner, ownerResource, resource, selector, candidates, signal });
    const plan = planRevision(owner.spec!.template, known);
    const { collisionCount } = owner.status ?? {};
    if (plan.type === 'keep') return { update: plan.revision, revisions: known, collisionCount };
    if (plan.type === 'create') {
      const made = await this.#create(owner, plan.number, signal);
      return { ...made, revisions: [...known, made.update] };
    }
    const renumbered = { ...plan.revision, revision: plan.number };
    const update = await client.update(CONTROLLER_REVISIONS, renumbered, { signal });
    return {
      update,
      revisions: known.map((revision) => (revision === plan.revision ? update : revision)),
      collisionCount,
    };
  }

  /** Deletes the oldest revisions beyond `spec.revisionHistoryLimit`. Revisions of existing pods do not count. */
  async trim(
    owner: Revised,
    { revisions }: History,
    isLive: (revision: ControllerRevision) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    for (const { metadata } of surplusRevisions(revisions, isLive, owner.spec?.revisionHistoryLimit ?? 10)) {
      const { namespace, name = '' } = metadata;
      try {
        await this.#options.client.delete(CONTROLLER_REVISIONS, { namespace, name }, { signal });
      } catch (error) {
        if (!isNotFound(error)) throw error;
      }
    }
  }

  /** When the name is in use by another revision, the next one is tried; the owner's status records the collisions. */
  async #create(
    owner: Revised,
    number: number,
    signal: AbortSignal,
  ): Promise<Pick<History, 'update' | 'collisionCount'>> {
    const { client, hashLabel } = this.#options;
    for (let collisions = owner.status?.collisionCount ?? 0; ; collisions++) {
      const wanted = newRevision(owner, hashLabel, number, collisions);
      const collisionCount = collisions || owner.status?.collisionCount;
      try {
        const update = await client.create(CONTROLLER_REVISIONS, wanted, { signal });
        return { update, collisionCount };
      } catch (error) {
        if (!isAlreadyExists(error)) throw error;
      }
      const { namespace, name = '' } = wanted.metadata;
      const existing = await client.get(CONTROLLER_REVISIONS, { namespace, name }, { signal });
      // It was created before, and the cache does not show it yet.
      if (isControlledBy(existing, owner) && holds(existing, owner.spec!.template)) {
        return { update: existing, collisionCount };
      }
    }
  }
}
