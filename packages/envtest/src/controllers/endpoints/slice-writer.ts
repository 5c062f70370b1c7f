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

/** The slices that one controller manages, by the Service that they belong to. */
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
    this.#writes = new OwnWrites(this.informer, clock);
  }

  /** For `Controller.watch`: the key of the Service of a slice that this controller manages. */
  readonly keysOf = (slice: EndpointSlice): string[] => (this.#isManaged(slice) ? serviceOf(slice) : []);

  /** Milliseconds until the cache can be trusted to show this controller's writes; 0 when it does. */
  waitMs(key: string): number {
    return this.#writes.waitMs(key);
  }

  of(key: string): EndpointSlice[] {
    return this.informer.cache.byIndex(BY_SERVICE, key).filter((slice) => this.#isManaged(slice));
  }

  /**
   * Creates, updates and deletes slices until they match `wanted`. Adds the labels with the Service and the manager.
   */
  async sync(wanted: WantedSlices, signal: AbortSignal): Promise<void> {
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
    // A slice created while its owner is being deleted would escape or delay the garbage collector.
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

  #isManaged({ metadata }: EndpointSlice): boolean {
    return metadata.labels?.[MANAGED_BY_LABEL] === this.#managedBy;
  }
}
