import type { DurableMap } from '@tidegate/disk';

/**
 * Storage for what the hub knows about clients. It is on disk, so that a hub that restarts offline still has
 * it.
 */
export type Memory = Pick<DurableMap, 'get' | 'put' | 'delete' | 'deletePrefix' | 'keys'>;
