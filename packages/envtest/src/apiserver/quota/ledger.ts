/** The sums of all quotas. Follows the store; see README.md. */
import { formatQuantity, type KubeObject, ownField, parseQuantity, type Quantity } from '@tidegate/kube';
import { type Amounts, difference, parseAmounts, sum } from '../../amounts/index.ts';
import type { AdmissionAttributes } from '../operations/core.ts';
import { refusal } from '../operations/refusal.ts';
import type { Pod } from '../resources/pod/types.ts';
import type { ResourceQuota, ResourceQuotaSpec } from '../resources/quota/types.ts';
import { decodeStored } from '../served/codec.ts';
import type { Registry } from '../served/registry.ts';
import type { Change, Entry, Store } from '../store/types.ts';
import { isCounted, isTerminating } from './scopes.ts';
import { storageOf, unspecified, usageOf } from './usage.ts';

const QUOTAS = 'resourcequotas';
const NONE: Amounts = new Map();

interface Account {
  name: string;
  spec: ResourceQuotaSpec;
  limits: Amounts;
  /** The resources whose objects this quota counts, by storage name. */
  storages: ReadonlySet<string>;
  used: Amounts;
  /** The revision at which all objects were counted. Earlier changes are part of the count. */
  countedAt: number;
  /** Writes that are not durable yet. */
  reserved: Set<Amounts>;
}

export class QuotaLedger {
  readonly #store: Store;
  readonly #registry: Registry;
  readonly #accounts = new Map<string, Map<string, Account>>();
  readonly #reserved = new Map<string, Set<Amounts>>();
  readonly #stop: () => void;
  /** The resources that were served when the accounts were opened; see `#accountsOf`. */
  #generation = -1;

  constructor(store: Store, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
    this.#stop = store.watchAll((changes) => {
      for (const change of changes) this.#follow(change);
    });
  }

  close(): void {
    this.#stop();
  }

  /** The names of the quotas that a change of this resource can affect. */
  affected(namespace: string, storage: string): string[] {
    return this.#accountsOf(namespace)
      .filter(({ name, storages }) => storages.has(storage) || (storage === QUOTAS && name !== ''))
      .map(({ name }) => name);
  }

  /** What the objects of the namespace use, as `status.used` of the quota shows it. */
  used(namespace: string, name: string): Record<string, string> | undefined {
    const account = this.#accountsOf(namespace).find((one) => one.name === name);
    if (account === undefined) return undefined;
    const known = Object.keys(account.spec.hard ?? {}).filter(
      (resource) => storageOf(this.#registry, resource) !== undefined,
    );
    return Object.fromEntries(known.map((resource) => [resource, shown(account, resource, account.used)]));
  }

  /** Reserves what a write will use until the returned function is called. Throws a 403 error if a quota is exceeded. */
  reserve(attributes: AdmissionAttributes): () => void {
    const { served, namespace, object } = attributes;
    const { storage } = served.definition;
    const accounts = this.#accountsOf(namespace).filter(({ storages }) => storages.has(storage));
    if (accounts.length === 0 || object === undefined || !isCharged(attributes)) return () => undefined;
    const charges = accounts
      .filter(({ spec }) => isCounted(spec, storage, object))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
      .map((account) => ({ account, amounts: this.#charge(account, attributes, object) }));
    if (attributes.dryRun) return () => undefined;
    for (const { account, amounts } of charges) account.reserved.add(amounts);
    return () => {
      for (const { account, amounts } of charges) account.reserved.delete(amounts);
    };
  }

  /** A quota can name any resource, so all quotas are opened again when resources are added or removed. */
  #accountsOf(namespace: string): Account[] {
    if (this.#generation !== this.#registry.generation) {
      this.#generation = this.#registry.generation;
      this.#accounts.clear();
      for (const entry of this.#store.list(QUOTAS).entries) this.#open(entry);
    }
    return [...(this.#accounts.get(namespace)?.values() ?? [])];
  }

  /** What the write adds to an account. Throws if that is too much. */
  #charge(account: Account, attributes: AdmissionAttributes, object: KubeObject): Amounts {
    const { storage } = attributes.served.definition;
    if (storage === 'pods' && attributes.operation === 'CREATE') {
      const problem = unspecified(object as unknown as Pod, account.limits.keys());
      if (problem !== undefined) throw refusal(attributes, `failed quota: ${account.name}: ${problem}`);
    }
    const after = this.#masked(account, storage, object);
    const { oldObject } = attributes;
    const counted = oldObject !== undefined && isCounted(account.spec, storage, oldObject);
    const added = counted ? difference(after, this.#masked(account, storage, oldObject)) : after;
    const amounts = new Map([...added].filter(([, amount]) => amount > 0n));
    const used = [...account.reserved].reduce(sum, account.used);
    const exceeded = [...amounts.keys()].filter(
      (name) => (used.get(name) ?? 0n) + (amounts.get(name) ?? 0n) > (account.limits.get(name) ?? 0n),
    );
    if (exceeded.length === 0) return amounts;
    const list = (values: Amounts): string =>
      exceeded
        .sort()
        .map((name) => `${name}=${shown(account, name, values)}`)
        .join(',');
    throw refusal(
      attributes,
      `exceeded quota: ${account.name}, requested: ${list(amounts)}, used: ${list(used)}, limited: ${list(account.limits)}`,
    );
  }

  /** The usage of an object, as far as the quota limits it. */
  #masked(account: Account, storage: string, object: KubeObject): Amounts {
    const usage = usageOf(this.#registry, storage, object);
    return new Map([...usage].filter(([name]) => account.limits.has(name)));
  }

  #follow(change: Change): void {
    const { resource, entry, type, previous } = change;
    if (resource === QUOTAS && type === 'delete') {
      const accounts = this.#accounts.get(entry.namespace);
      accounts?.delete(entry.name);
      this.#reserved.delete(`${entry.namespace}/${entry.name}`);
      if (accounts?.size === 0) this.#accounts.delete(entry.namespace);
    }
    for (const account of this.#accountsOf(entry.namespace)) {
      if (!account.storages.has(resource) || entry.revision <= account.countedAt) continue;
      if (previous !== undefined) this.#add(account, resource, previous, difference);
      if (type === 'put') this.#add(account, resource, entry, sum);
    }
    // Changes are published in batches, so the store may already have later changes of the same batch.
    if (resource === QUOTAS && type === 'put') this.#open(entry);
  }

  #add(account: Account, storage: string, entry: Entry, how: typeof sum): void {
    const object = decodeStored(entry);
    if (!isCounted(account.spec, storage, object)) return;
    account.used = how(account.used, this.#masked(account, storage, object));
  }

  /** Reservations survive when an account is opened again. */
  #reservedBy(namespace: string, name: string): Set<Amounts> {
    const key = `${namespace}/${name}`;
    const known = this.#reserved.get(key) ?? new Set<Amounts>();
    this.#reserved.set(key, known);
    return known;
  }

  /** Counts everything from the beginning if the quota is new or limits other resources now. */
  #open(entry: Entry): void {
    const { spec } = decodeStored(entry) as ResourceQuota;
    const accounts = this.#accounts.get(entry.namespace) ?? new Map<string, Account>();
    const before = accounts.get(entry.name);
    if (before !== undefined && JSON.stringify(before.spec) === JSON.stringify(spec)) return;
    const limits = parseAmounts(spec.hard);
    const storages = [...limits.keys()].flatMap((name) => storageOf(this.#registry, name) ?? []);
    const account: Account = {
      name: entry.name,
      spec,
      limits,
      storages: new Set(storages),
      used: NONE,
      countedAt: this.#store.revision,
      reserved: this.#reservedBy(entry.namespace, entry.name),
    };
    for (const storage of account.storages) {
      const { entries } = this.#store.list(storage, { namespace: entry.namespace });
      for (const object of entries) this.#add(account, storage, object, sum);
    }
    accounts.set(entry.name, account);
    this.#accounts.set(entry.namespace, accounts);
  }
}

/** Amounts have the unit in which the quota is written. */
function shown({ spec }: Account, name: string, amounts: Amounts): string {
  const written: Quantity | undefined = parseQuantity(String(ownField(spec.hard, name) ?? '0'));
  return formatQuantity({ nanos: amounts.get(name) ?? 0n, format: written?.format ?? 'decimal' });
}

/** Most resources are counted when they are created. Services, claims and pods can need more after an update. */
function isCharged({ operation, served, subresource, object, oldObject }: AdmissionAttributes): boolean {
  if (subresource !== '') return false;
  if (operation === 'CREATE') return true;
  if (operation !== 'UPDATE') return false;
  const { storage } = served.definition;
  if (storage === 'services' || storage === 'persistentvolumeclaims') return true;
  return (
    storage === 'pods' &&
    isTerminating(object as unknown as Pod) !== isTerminating(oldObject as unknown as Pod)
  );
}
