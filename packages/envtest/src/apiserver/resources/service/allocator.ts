/**
 * Tracks the owners of cluster IPs and node ports. Built from the store at the start and updated by its changes.
 * Between allocation and durable write, a value is reserved for the service by name, and released if the write does
 * not happen.
 */
import type { KubeObject } from '@tidegate/kube';
import type { Change, Store } from '../../store/types.ts';
import {
  type AddressRange,
  addressRange,
  type PortRange,
  pickFree,
  portRange,
  toAddress,
  toNumber,
} from './pool.ts';
import {
  HEADLESS,
  type IPAddress,
  nodePortsOf,
  type Service,
  type ServiceCIDR,
  type ServiceSpec,
} from './types.ts';

const HOLD_MS = 30_000;

export interface ServiceAllocatorOptions {
  clusterIPRange?: string | undefined;
  nodePortRange?: string;
  /** Ports that a Service gets only if it asks for them, because other programs of this machine listen on them. */
  usedPorts?: () => ReadonlySet<number>;
  random?: () => number;
}

/** The pools as seen by one request. */
export interface Claimant {
  /** `namespace/name` of the service. */
  owner: string;
  now: Date;
  /** A dry run receives values but does not reserve them. */
  dryRun: boolean;
}

interface Hold {
  owner: string;
  until: number;
}

export class ServiceAllocator {
  /** The range of the cluster. ServiceCIDRs can add others. */
  readonly addresses: AddressRange;
  readonly ports: PortRange;
  readonly #random: () => number;
  readonly #usedPorts: () => ReadonlySet<number>;
  readonly #owners = new Map<string, string>();
  readonly #holds = new Map<string, Hold>();
  /** IPAddress objects and their owners. A client can create one to keep an address free. */
  readonly #addressObjects = new Map<string, string>();
  readonly #added = new Map<string, AddressRange[]>();
  readonly #stop: () => void;

  constructor(store: Store, options: ServiceAllocatorOptions = {}) {
    this.addresses = addressRange(options.clusterIPRange ?? '10.96.0.0/16');
    this.ports = portRange(options.nodePortRange ?? '30000-32767');
    this.#random = options.random ?? Math.random;
    this.#usedPorts = options.usedPorts ?? (() => new Set());
    const { entries, revision } = store.list('services');
    for (const { value } of entries) this.#take(JSON.parse(value.toString()) as Service);
    const stops = [
      store.watch('services', { fromRevision: revision }, (changes) => this.#follow(changes)),
      followObjects(store, 'networking.k8s.io/servicecidrs', (name, value) => this.#setRanges(name, value)),
      followObjects(store, 'networking.k8s.io/ipaddresses', (ip, value) => {
        if (value === undefined) this.#addressObjects.delete(ip);
        else this.#addressObjects.set(ip, parentOf(value));
      }),
    ];
    this.#stop = () => {
      for (const stop of stops) stop();
    };
  }

  close(): void {
    this.#stop();
  }

  get #ranges(): AddressRange[] {
    return [this.addresses, ...[...this.#added.values()].flat()];
  }

  /** A range counts once it is ready, and until it is being deleted. */
  #setRanges(name: string, cidr: KubeObject | undefined): void {
    const { spec, status, metadata } = (cidr ?? { spec: {}, status: {}, metadata: {} }) as ServiceCIDR;
    const isReady = status.conditions?.some((one) => one.type === 'Ready' && one.status === 'True');
    const ranges = (spec.cidrs ?? []).filter(
      (range) => range !== this.addresses.cidr && !range.includes(':'),
    );
    if (!isReady || metadata.deletionTimestamp !== undefined) this.#added.delete(name);
    else this.#added.set(name, ranges.map(addressRange));
  }

  /** Returns the reason of a failure, or undefined if the address is allocated. */
  claimAddress(ip: string, claimant: Claimant): string | undefined {
    const value = toNumber(ip);
    const { cidr } = this.addresses;
    if (!this.#ranges.some(({ first, last }) => value >= first && value <= last)) {
      // kube-apiserver uses a different message in a dry run as well.
      return claimant.dryRun
        ? `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${cidr}`
        : 'the provided network does not match the current range';
    }
    // As in kube-apiserver, a dry run does not check whether the address is in use.
    if (claimant.dryRun) return undefined;
    if (!this.#claim(addressKey(ip), claimant)) return 'provided IP is already allocated';
    return undefined;
  }

  anyAddress(claimant: Claimant): string | undefined {
    const taken = (value: number): boolean => this.#isTaken(addressKey(toAddress(value)), claimant);
    for (const range of this.#ranges) {
      const value = pickFree(range, taken, this.#random);
      if (value === undefined) continue;
      this.#claim(addressKey(toAddress(value)), claimant);
      return toAddress(value);
    }
    return undefined;
  }

  claimPort(port: number, claimant: Claimant): string | undefined {
    const inRange = port >= this.ports.first && port <= this.ports.last;
    if (!inRange && !claimant.dryRun) {
      return `provided port is not in the valid range. The range of valid ports is ${this.ports.text}`;
    }
    if (!this.#claim(portKey(port), claimant)) return 'provided port is already allocated';
    return undefined;
  }

  anyPort(claimant: Claimant): number | undefined {
    const used = this.#usedPorts();
    const taken = (value: number): boolean => used.has(value) || this.#isTaken(portKey(value), claimant);
    const port = pickFree(this.ports, taken, this.#random);
    if (port !== undefined) this.#claim(portKey(port), claimant);
    return port;
  }

  #isTaken(key: string, { now, owner }: Claimant): boolean {
    const hold = this.#holds.get(key);
    if (hold !== undefined && hold.until <= now.getTime()) this.#holds.delete(key);
    return this.#owners.has(key) || this.#holds.has(key) || this.#isKept(key, owner);
  }

  /** True if there is an IPAddress that belongs to another object. */
  #isKept(key: string, owner: string): boolean {
    const parent = key.startsWith('ip ') ? this.#addressObjects.get(key.slice('ip '.length)) : undefined;
    return parent !== undefined && parent !== owner;
  }

  #claim(key: string, claimant: Claimant): boolean {
    const free = !this.#isTaken(key, claimant);
    const mine = !this.#owners.has(key) && this.#holds.get(key)?.owner === claimant.owner;
    if (!free && !mine) return false;
    if (!claimant.dryRun) {
      this.#holds.set(key, { owner: claimant.owner, until: claimant.now.getTime() + HOLD_MS });
    }
    return true;
  }

  #follow(changes: readonly Change[]): void {
    for (const { type, entry, previous } of changes) {
      if (previous !== undefined) this.#release(JSON.parse(previous.value.toString()) as Service);
      if (type === 'put') this.#take(JSON.parse(entry.value.toString()) as Service);
    }
  }

  #take(service: Service): void {
    for (const key of keysOf(service.spec)) {
      this.#owners.set(key, ownerOf(service));
      this.#holds.delete(key);
    }
  }

  #release(service: Service): void {
    for (const key of keysOf(service.spec)) {
      if (this.#owners.get(key) === ownerOf(service)) this.#owners.delete(key);
    }
  }
}

export const ownerOf = ({ metadata }: Service): string =>
  `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;

/** `namespace/name` of the Service that an IPAddress belongs to. */
function parentOf(address: KubeObject): string {
  const { resource, namespace = '', name = '' } = (address as IPAddress).spec.parentRef ?? {};
  return resource === 'services' ? `${namespace}/${name}` : `${resource} ${namespace}/${name}`;
}

/** Calls `set` for all objects of a cluster-scoped resource, now and after every change. */
function followObjects(
  store: Store,
  resource: string,
  set: (name: string, object: KubeObject | undefined) => void,
): () => void {
  const { entries, revision } = store.list(resource);
  const read = (value: Buffer): KubeObject => JSON.parse(value.toString()) as KubeObject;
  for (const { name, value } of entries) set(name, read(value));
  return store.watch(resource, { fromRevision: revision }, (changes) => {
    for (const { type, entry } of changes) set(entry.name, type === 'put' ? read(entry.value) : undefined);
  });
}

const addressKey = (ip: string): string => `ip ${ip}`;
const portKey = (port: number): string => `port ${port}`;

function keysOf(spec: ServiceSpec): string[] {
  const ports = [...nodePortsOf(spec), ...(spec.healthCheckNodePort ? [spec.healthCheckNodePort] : [])];
  const addresses = (spec.clusterIPs ?? []).filter((ip) => ip !== HEADLESS && ip !== '');
  return [...addresses.map(addressKey), ...ports.map(portKey)];
}
