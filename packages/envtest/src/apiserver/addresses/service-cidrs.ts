/** The ranges of service addresses: their condition, and their deletion once no address needs them. Keys are names. */
import type { Condition } from '@tidegate/kube';
import { ensureObject } from '../bootstrap.ts';
import { type Core, timestamp, type WriteOptions } from '../operations/core.ts';
import { editIfPresent } from '../operations/if-present.ts';
import type { ServiceCIDR } from '../resources/service/types.ts';
import { contains } from '../resources/validation/ip.ts';
import { decodeStored } from '../served/codec.ts';
import type { Change } from '../store/types.ts';

const STORAGE = 'networking.k8s.io/servicecidrs';
const ADDRESSES = 'networking.k8s.io/ipaddresses';
const FINALIZER = 'networking.k8s.io/service-cidr-finalizer';
export const DEFAULT_CIDR = 'kubernetes';

export class ServiceCidrs {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #defaultRange: string;
  readonly #enqueue: (name: string) => void;

  constructor(core: Core, options: WriteOptions, defaultRange: string, enqueue: (name: string) => void) {
    this.#core = core;
    this.#options = options;
    this.#defaultRange = defaultRange;
    this.#enqueue = enqueue;
    enqueue(DEFAULT_CIDR);
    for (const { name } of core.store.list(STORAGE).entries) enqueue(name);
  }

  observe({ resource, type, entry }: Change): void {
    if (resource === STORAGE) this.#enqueue(entry.name);
    // A range that waits for its last address may be free now, and a new range may take over its addresses.
    if ((resource === ADDRESSES && type === 'delete') || resource === STORAGE) {
      for (const cidr of this.#all()) {
        if (cidr.metadata.deletionTimestamp !== undefined) this.#enqueue(cidr.metadata.name ?? '');
      }
    }
  }

  async reconcile(name: string): Promise<void> {
    if (name === DEFAULT_CIDR) await ensureObject(this.#core, this.#options, defaultCidr(this.#defaultRange));
    const entry = this.#core.store.get({ resource: STORAGE, namespace: '', name });
    if (entry === undefined) return;
    const cidr = decodeStored(entry) as ServiceCIDR;
    if (cidr.metadata.deletionTimestamp === undefined) {
      if (!cidr.metadata.finalizers?.includes(FINALIZER)) await this.#setFinalizer(name, true);
      return this.#setReady(name, true, name === DEFAULT_CIDR);
    }
    if (this.#isNeeded(cidr)) return this.#setReady(name, false, false);
    await this.#setFinalizer(name, false);
  }

  /** True if an address is in this range and in no other. */
  #isNeeded(cidr: ServiceCIDR): boolean {
    const others = this.#all()
      .filter(
        ({ metadata }) => metadata.name !== cidr.metadata.name && metadata.deletionTimestamp === undefined,
      )
      .flatMap(({ spec }) => spec.cidrs ?? []);
    const own = cidr.spec.cidrs ?? [];
    return this.#core.store
      .list(ADDRESSES)
      .entries.some(
        ({ name: ip }) =>
          own.some((range) => contains(range, ip)) && !others.some((range) => contains(range, ip)),
      );
  }

  #all(): ServiceCIDR[] {
    return this.#core.store.list(STORAGE).entries.map((entry) => decodeStored(entry) as ServiceCIDR);
  }

  async #setReady(name: string, isReady: boolean, isDefault: boolean): Promise<void> {
    await this.#edit(name, 'status', (cidr) => {
      const before = cidr.status.conditions?.find(({ type }) => type === 'Ready');
      const status = isReady ? 'True' : 'False';
      const condition: Condition = {
        type: 'Ready',
        status,
        lastTransitionTime:
          before?.status === status ? before.lastTransitionTime : timestamp(this.#core.now()),
        reason: isReady ? '' : 'Terminating',
        message: isReady
          ? `Kubernetes ${isDefault ? 'default ' : ''}Service CIDR is ready`
          : 'There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new ServiceCIDR',
      };
      const others = cidr.status.conditions?.filter(({ type }) => type !== 'Ready') ?? [];
      cidr.status.conditions = [...others, condition];
    });
  }

  async #setFinalizer(name: string, isWanted: boolean): Promise<void> {
    await this.#edit(name, '', ({ metadata }) => {
      const others = (metadata.finalizers ?? []).filter((finalizer) => finalizer !== FINALIZER);
      metadata.finalizers = isWanted ? [...others, FINALIZER] : others;
      if (metadata.finalizers.length === 0) delete metadata.finalizers;
    });
  }

  async #edit(name: string, subresource: string, edit: (cidr: ServiceCIDR) => void): Promise<void> {
    const served = this.#core.registry.byStorage(STORAGE);
    if (served === undefined) throw new Error('ServiceCIDRs are not served');
    const target = { served, namespace: '', name, subresource };
    await editIfPresent(this.#core, target, this.#options, (current) => edit(current as ServiceCIDR));
  }
}

const defaultCidr = (range: string): ServiceCIDR => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'ServiceCIDR',
  metadata: { name: DEFAULT_CIDR },
  spec: { cidrs: [range] },
  status: {},
});
