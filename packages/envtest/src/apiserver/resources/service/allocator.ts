/**
 * Tracks the owners of cluster IPs and node ports. Built from the store at the start and updated by its changes.
 * Between allocation and durable write, a value is reserved for the service by name, and released if the write does
 * not happen.
 */
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
import { HEADLESS, nodePortsOf, type Service, type ServiceSpec } from './types.ts';

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
  readonly addresses: AddressRange;
  readonly ports: PortRange;
  readonly #random: () => number;
  readonly #usedPorts: () => ReadonlySet<number>;
  readonly #owners = new Map<string, string>();
  readonly #holds = new Map<string, Hold>();
  readonly #stop: () => void;

  constructor(store: Store, options: ServiceAllocatorOptions = {}) {
    this.addresses = addressRange(options.clusterIPRange ?? '10.96.0.0/16');
    this.ports = portRange(options.nodePortRange ?? '30000-32767');
    this.#random = options.random ?? Math.random;
    this.#usedPorts = options.usedPorts ?? (() => new Set());
    const { entries, revision } = store.list('services');
    for (const { value } of entries) this.#take(JSON.parse(value.toString()) as Service);
    this.#stop = store.watch('services', { fromRevision: revision }, (changes) => this.#follow(changes));
  }

  close(): void {
    this.#stop();
  }

  /** Returns the reason of a failure, or undefined if the address is allocated. */
  claimAddress(ip: string, claimant: Claimant): string | undefined {
    const value = toNumber(ip);
    const { first, last, cidr } = this.addresses;
    if (value < first || value > last) {
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
    const value = pickFree(this.addresses, taken, this.#random);
    if (value === undefined) return undefined;
    this.#claim(addressKey(toAddress(value)), claimant);
    return toAddress(value);
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

  #isTaken(key: string, { now }: Claimant): boolean {
    const hold = this.#holds.get(key);
    if (hold !== undefined && hold.until <= now.getTime()) this.#holds.delete(key);
    return this.#owners.has(key) || this.#holds.has(key);
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

const addressKey = (ip: string): string => `ip ${ip}`;
const portKey = (port: number): string => `port ${port}`;

function keysOf(spec: ServiceSpec): string[] {
  const ports = [...nodePortsOf(spec), ...(spec.healthCheckNodePort ? [spec.healthCheckNodePort] : [])];
  const addresses = (spec.clusterIPs ?? []).filter((ip) => ip !== HEADLESS && ip !== '');
  return [...addresses.map(addressKey), ...ports.map(portKey)];
}
