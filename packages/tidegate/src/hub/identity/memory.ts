import type { DurableMap } from '@tidegate/disk';

/** What is known of callers and must outlast a restart, so that it still holds when the link is away then. */
export type Memory = Pick<DurableMap, 'get' | 'put' | 'delete' | 'deletePrefix' | 'keys'>;
