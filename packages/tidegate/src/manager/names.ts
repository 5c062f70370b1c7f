import { SYSTEM_NAMESPACE } from '../api/index.ts';

/** What the manager has in the cluster: deploy/manager.yaml gives it access to exactly these. */
export const LEASE = { namespace: SYSTEM_NAMESPACE, name: 'tidegate-manager' };
export const WEBHOOK_SECRET = { namespace: SYSTEM_NAMESPACE, name: 'tidegate-webhook' };
/** The field manager of what the manager itself writes, and the component of its events. */
export const MANAGER = 'tidegate-manager';
