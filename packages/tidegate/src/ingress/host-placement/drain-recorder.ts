import { isDeepStrictEqual } from 'node:util';
import { Applier, isNotFound, type KubeClient } from '@tidegate/kube';
import { L7_ROUTERS, type L7Router, PLACEMENT_FIELD_MANAGER } from '../../api/index.ts';
import { type Drains, drainRecord } from './drains.ts';

/** Writes drain times to the status of routers, with a field manager of its own: another controller applies the rest. */
export class DrainRecorder {
  readonly #applier: Applier;

  constructor(client: KubeClient) {
    this.#applier = new Applier(client, PLACEMENT_FIELD_MANAGER);
  }

  async record(
    { apiVersion, kind, metadata, status }: L7Router,
    drains: Drains,
    signal: AbortSignal,
  ): Promise<void> {
    const draining = drainRecord(drains);
    if (isDeepStrictEqual(draining, status?.draining ?? [])) return;
    const object = {
      apiVersion,
      kind,
      metadata: { name: metadata.name },
      status: draining.length === 0 ? {} : { draining },
    };
    try {
      await this.#applier.applyStatus(object, { resource: L7_ROUTERS, signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
  }
}
