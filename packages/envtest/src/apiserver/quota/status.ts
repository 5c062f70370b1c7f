/** Writes what is used to the status of ResourceQuotas. */
import { isDeepStrictEqual } from 'node:util';
import type { Core, WriteOptions } from '../operations/core.ts';
import { editIfPresent } from '../operations/if-present.ts';
import type { ResourceQuota } from '../resources/quota/types.ts';
import type { Change } from '../store/types.ts';
import type { QuotaLedger } from './ledger.ts';

const QUOTAS = 'resourcequotas';

export class QuotaStatus {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #ledger: QuotaLedger;
  readonly #enqueue: (key: string) => void;

  constructor(core: Core, options: WriteOptions, ledger: QuotaLedger, enqueue: (key: string) => void) {
    this.#core = core;
    this.#options = options;
    this.#ledger = ledger;
    this.#enqueue = enqueue;
    for (const { namespace, name } of core.store.list(QUOTAS).entries) enqueue(`${namespace}/${name}`);
  }

  observe({ resource, entry }: Change): void {
    for (const name of this.#ledger.affected(entry.namespace, resource))
      this.#enqueue(`${entry.namespace}/${name}`);
  }

  async reconcile(key: string): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const served = this.#core.registry.byStorage(QUOTAS);
    const used = this.#ledger.used(namespace, name);
    if (served === undefined || used === undefined) return;
    const target = { served, namespace, name, subresource: 'status' };
    await editIfPresent(this.#core, target, this.#options, (current) => {
      const quota = current as ResourceQuota;
      const status = { hard: quota.spec.hard ?? {}, used };
      if (!isDeepStrictEqual(quota.status, status)) quota.status = status;
    });
  }
}
