import { ROUTER_NAMESPACE, SYSTEM_NAMESPACE } from '../api/index.ts';

/**
 * The parts of the manager. In deploy/base, each has its own Deployment and its own ServiceAccount, so that none has
 * the permissions of another: `admission` reads what users send, `pools` changes nodes and approves certificates, `routers`
 * creates the workloads of routers, and `apps` creates the objects of applications.
 */
export const PARTS = ['admission', 'pools', 'routers', 'apps'] as const;
export type Part = (typeof PARTS)[number];
/** A part of which only one manager runs the controllers at a time. */
export type LedPart = Exclude<Part, 'admission'>;
export const isLed = (part: Part): part is LedPart => part !== 'admission';

/** Objects of the manager. The Roles in deploy/base grant access to exactly these. */
export const LEASES: Readonly<Record<LedPart, { namespace: string; name: string }>> = {
  pools: { namespace: SYSTEM_NAMESPACE, name: 'tidegate-pools' },
  routers: { namespace: SYSTEM_NAMESPACE, name: 'tidegate-routers' },
  apps: { namespace: SYSTEM_NAMESPACE, name: 'tidegate-apps' },
};
export const WEBHOOK_SECRET = { namespace: SYSTEM_NAMESPACE, name: 'tidegate-webhook' };
/** Namespaces that must exist. deploy/base contains them. */
export const OWN_NAMESPACES: readonly string[] = [SYSTEM_NAMESPACE, ROUTER_NAMESPACE];
/** Field manager of the objects that the manager itself writes, and source component of its events. */
export const MANAGER = 'tidegate-manager';
