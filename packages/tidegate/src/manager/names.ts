import { SYSTEM_NAMESPACE } from '../api/index.ts';

/** Objects of the manager. The Role in deploy/manager.yaml grants access to exactly these. */
export const LEASE = { namespace: SYSTEM_NAMESPACE, name: 'tidegate-manager' };
export const WEBHOOK_SECRET = { namespace: SYSTEM_NAMESPACE, name: 'tidegate-webhook' };
/** Field manager of the objects that the manager itself writes, and source component of its events. */
export const MANAGER = 'tidegate-manager';
