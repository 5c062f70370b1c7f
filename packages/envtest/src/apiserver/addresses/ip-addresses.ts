/** Keeps an IPAddress for every cluster IP. Keys are addresses. */
import type { KubeObject } from '@tidegate/kube';
import { ensureObject } from '../bootstrap.ts';
import type { Core, WriteOptions } from '../operations/core.ts';
import { deleteIfPresent } from '../operations/if-present.ts';
import { HEADLESS, type IPAddress, type Service } from '../resources/service/types.ts';
import { familyOf } from '../resources/validation/ip.ts';
import { decodeStored } from '../served/codec.ts';
import type { Change } from '../store/types.ts';

const STORAGE = 'networking.k8s.io/ipaddresses';
const SERVICES = 'services';
const MANAGED_BY = 'ipaddress.kubernetes.io/managed-by';
const MANAGER = 'ipallocator.k8s.io';

export class IpAddresses {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #enqueue: (ip: string) => void;
  /** The Service of each cluster IP. */
  readonly #services = new Map<string, { namespace: string; name: string }>();

  constructor(core: Core, options: WriteOptions, enqueue: (ip: string) => void) {
    this.#core = core;
    this.#options = options;
    this.#enqueue = enqueue;
    for (const entry of core.store.list(SERVICES).entries) this.#note(decodeStored(entry) as Service);
    for (const { name } of core.store.list(STORAGE).entries) enqueue(name);
  }

  observe({ resource, type, entry, previous }: Change): void {
    if (resource === STORAGE) this.#enqueue(entry.name);
    if (resource !== SERVICES) return;
    if (previous !== undefined) {
      for (const ip of addressesOf(decodeStored(previous) as Service)) {
        this.#services.delete(ip);
        this.#enqueue(ip);
      }
    }
    if (type === 'put') this.#note(decodeStored(entry) as Service);
  }

  #note(service: Service): void {
    const { namespace = '', name = '' } = service.metadata;
    for (const ip of addressesOf(service)) {
      this.#services.set(ip, { namespace, name });
      this.#enqueue(ip);
    }
  }

  async reconcile(ip: string): Promise<void> {
    const service = this.#services.get(ip);
    const entry = this.#core.store.get({ resource: STORAGE, namespace: '', name: ip });
    const served = this.#core.registry.byStorage(STORAGE);
    if (served === undefined) throw new Error('IPAddresses are not served');
    if (entry !== undefined) {
      const { metadata, spec } = decodeStored(entry) as IPAddress;
      if (metadata.labels?.[MANAGED_BY] !== MANAGER) return;
      const { namespace, name } = spec.parentRef ?? {};
      if (namespace === service?.namespace && name === service?.name) return;
      await deleteIfPresent(this.#core, { served, namespace: '', name: ip }, this.#options, {});
      return;
    }
    if (service !== undefined) await ensureObject(this.#core, this.#options, addressOf(ip, service));
  }
}

const addressesOf = ({ spec }: Service): string[] =>
  (spec.clusterIPs ?? []).filter((ip) => ip !== '' && ip !== HEADLESS);

const addressOf = (ip: string, { namespace, name }: { namespace: string; name: string }): KubeObject => ({
  apiVersion: 'networking.k8s.io/v1',
  kind: 'IPAddress',
  metadata: {
    name: ip,
    labels: { 'ipaddress.kubernetes.io/ip-family': familyOf(ip), [MANAGED_BY]: MANAGER },
  },
  spec: { parentRef: { resource: SERVICES, namespace, name } },
});
