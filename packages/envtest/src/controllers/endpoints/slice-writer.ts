import {
  ENDPOINT_SLICES,
  type EndpointSlice,
  type Informer,
  isNamespaceTerminating,
  isNotFound,
  type KubeClient,
  keyOf,
  SERVICE_NAME_LABEL,
} from '@tidegate/kube';
import type { ControllerContext } from '../context.ts';
import { OwnWrites } from '../own-writes.ts';
import { MANAGED_BY_LABEL, planSlices, type WantedSlices } from './slice-plan.ts';

const BY_SERVICE = 'endpoints/service';

const serviceOf = ({ metadata }: EndpointSlice): string[] => {
  const name = metadata.labels?.[SERVICE_NAME_LABEL];
  return name === undefined || name === '' ? [] : [`${metadata.namespace}/${name}`];
};

/** The slices that one controller keeps, found by the Service they belong to. */
export class SliceWriter {
  readonly informer: Informer<EndpointSlice>;
  readonly #client: KubeClient;
  readonly #managedBy: string;
  readonly #writes: OwnWrites<EndpointSlice>;

  constructor({ client, informers, clock }: ControllerContext, managedBy: string) {
    this.informer = informers.for(ENDPOINT_SLICES);
    this.informer.addIndex(BY_SERVICE, serviceOf);
    this.#client = client;
    this.#managedBy = managedBy;
    this.#writes = new OwnWrites(this.informer.cache, clock);
  }

  /** For `Controller.watch`: the Service that a slice of this controller belongs to. */
  readonly keysOf = (slice: EndpointSlice): string[] => (this.#isOurs(slice) ? serviceOf(slice) : []);

  /** Milliseconds until the cache can be trusted to show what was written; 0 when it does already. */
  waitMs(key: string): number {
    return this.#writes.waitMs(key);
  }

  of(key: string): EndpointSlice[] {
    return this.informer.cache.byIndex(BY_SERVICE, key).filter((slice) => this.#isOurs(slice));
  }

  /** To the labels the two are added that say whose slices they are, and who keeps them. */
  async bringTo(wanted: WantedSlices, signal: AbortSignal): Promise<void> {
    const { owner } = wanted;
    const key = keyOf(owner);
    const labels = {
      ...wanted.labels,
      [SERVICE_NAME_LABEL]: owner.metadata.name ?? '',
      [MANAGED_BY_LABEL]: this.#managedBy,
    };
    const plan = planSlices({ ...wanted, labels }, this.of(key));
    for (const slice of plan.update) {
      this.#writes.wrote(key, await this.#client.update(ENDPOINT_SLICES, slice, { signal }));
    }
    // What is made while the owner goes would be in the way of the collector.
    if (owner.metadata.deletionTimestamp === undefined) {
      for (const slice of plan.create) await this.#create(key, slice, signal);
    }
    for (const slice of plan.remove) await this.remove(key, slice, signal);
  }

  async remove(key: string, slice: EndpointSlice, signal: AbortSignal): Promise<void> {
    const { name = '', namespace, uid } = slice.metadata;
    try {
      await this.#client.delete(ENDPOINT_SLICES, { name, namespace }, { preconditions: { uid }, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    this.#writes.deleted(key, slice);
  }

  async #create(key: string, slice: EndpointSlice, signal: AbortSignal): Promise<void> {
    try {
      this.#writes.wrote(key, await this.#client.create(ENDPOINT_SLICES, slice, { signal }));
    } catch (error) {
      if (!isNamespaceTerminating(error)) throw error;
    }
  }

  #isOurs({ metadata }: EndpointSlice): boolean {
    return metadata.labels?.[MANAGED_BY_LABEL] === this.#managedBy;
  }
}
