/**
 * Keeps one APIService for every group and version that this server serves, and sets the condition of all of them. Keys are
 * names, for example `v1.apps`.
 */
import type { Condition } from '@tidegate/kube';
import { ensureObject } from '../bootstrap.ts';
import { type Core, timestamp, type WriteOptions } from '../operations/core.ts';
import { deleteIfPresent, editIfPresent } from '../operations/if-present.ts';
import type { APIService } from '../resources/aggregation/apiservice.ts';
import { decodeStored } from '../served/codec.ts';
import type { Change } from '../store/types.ts';
import { priorityOf } from './priorities.ts';

const STORAGE = 'apiregistration.k8s.io/apiservices';
const LABEL = 'kube-aggregator.kubernetes.io/automanaged';
const CRDS = 'apiextensions.k8s.io/customresourcedefinitions';

type Outcome = Omit<Condition, 'type' | 'lastTransitionTime'>;

const LOCAL: Outcome = { status: 'True', reason: 'Local', message: 'Local APIServices are always available' };
const REMOTE: Outcome = {
  status: 'False',
  reason: 'NotSupported',
  message: 'the embedded API server does not forward requests to other API servers',
};

interface Wanted extends APIService {
  metadata: APIService['metadata'] & { name: string };
}

export class ApiServices {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #enqueue: (name: string) => void;
  #generation = -1;
  /** What the registry had served at `#generation`. Shared by all reconciles, so it is copied before it is stored. */
  #wanted: ReadonlyMap<string, Wanted> = new Map();

  constructor(core: Core, options: WriteOptions, enqueue: (name: string) => void) {
    this.#core = core;
    this.#options = options;
    this.#enqueue = enqueue;
    this.#refresh();
    for (const { name } of core.store.list(STORAGE).entries) enqueue(name);
  }

  observe({ resource, entry }: Change): void {
    if (resource === STORAGE) this.#enqueue(entry.name);
    // The registry changes when a definition is established or deleted, which both change the definition.
    if (resource === CRDS) this.#refresh();
  }

  async reconcile(name: string): Promise<void> {
    this.#refresh();
    const wanted = this.#wanted.get(name);
    const entry = this.#core.store.get({ resource: STORAGE, namespace: '', name });
    const served = this.#core.registry.byStorage(STORAGE);
    if (served === undefined) throw new Error('APIServices are not served');
    const target = { served, namespace: '', name };
    // Once it is stored, it is reconciled again.
    if (entry === undefined) {
      if (wanted !== undefined) await ensureObject(this.#core, this.#options, structuredClone(wanted));
      return;
    }
    const { metadata, spec, status } = decodeStored(entry) as APIService;
    const isOurs = metadata.labels?.[LABEL] !== undefined;
    if (wanted === undefined && isOurs) return deleteIfPresent(this.#core, target, this.#options, {});
    const outcome = spec.service === undefined ? LOCAL : REMOTE;
    if (hasCondition(status, outcome)) return;
    await editIfPresent(this.#core, { ...target, subresource: 'status' }, this.#options, (current) => {
      setCondition(current as APIService, outcome, this.#core.now());
    });
  }

  /** Enqueues what the registry serves, or no longer serves, since the last call. */
  #refresh(): void {
    const { generation } = this.#core.registry;
    if (this.#generation === generation) return;
    const before = this.#wanted;
    this.#generation = generation;
    this.#wanted = this.#served();
    for (const name of this.#wanted.keys()) if (!before.has(name)) this.#enqueue(name);
    for (const name of before.keys()) if (!this.#wanted.has(name)) this.#enqueue(name);
  }

  #served(): Map<string, Wanted> {
    const wanted = new Map<string, Wanted>();
    const custom = new Set(
      this.#core.registry.all().flatMap((definition) => (definition.custom ? [definition.group] : [])),
    );
    for (const [group, versions] of this.#core.registry.groups()) {
      for (const version of versions) {
        const name = `${version}.${group}`;
        const labels = { [LABEL]: custom.has(group) ? 'true' : 'onstart' };
        wanted.set(name, {
          apiVersion: 'apiregistration.k8s.io/v1',
          kind: 'APIService',
          metadata: { name, labels },
          spec: { ...(group !== '' && { group }), version, ...priorityOf(group, version, versions) },
          status: {},
        });
      }
    }
    return wanted;
  }
}

const hasCondition = ({ conditions }: APIService['status'], { status, reason, message }: Outcome): boolean =>
  conditions?.some(
    (each) =>
      each.type === 'Available' &&
      each.status === status &&
      each.reason === reason &&
      each.message === message,
  ) ?? false;

function setCondition(object: APIService, wanted: Outcome, now: Date): void {
  const conditions = object.status.conditions ?? [];
  const before = conditions.find(({ type }) => type === 'Available');
  const isSame = before?.status === wanted.status;
  const lastTransitionTime = isSame ? before.lastTransitionTime : timestamp(now);
  const others = conditions.filter(({ type }) => type !== 'Available');
  object.status.conditions = [...others, { type: 'Available', lastTransitionTime, ...wanted }];
}
