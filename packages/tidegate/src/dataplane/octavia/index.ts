/**
 * Routers that are load balancers of OpenStack Octavia (`tidegate.io/octavia`). The manager programs them through the API
 * of Octavia; there is no program of Tidegate beside the data plane.
 *
 * - `plan/` is pure: which calls lead from what a load balancer has to what the routes say.
 * - `openstack/` makes calls: Keystone, Octavia and Neutron.
 * - `run/` implements the contract of provisioners: load balancers and floating IPs, then plans and their execution.
 *
 * An Ingress gets another path: the manager calls `reconcile` with the new routes. `wantedOf` translates them, `plan`
 * compares them with what the load balancer had after the last change, and `execute` makes one call after the other, each
 * of which waits until Octavia has done it.
 */
export { type KuryrSettings, readCloud, readKuryrConf, Session } from './openstack/index.ts';
export { stepText } from './plan/index.ts';
export { NOT_CONFIGURED, OctaviaProvisioner } from './run/index.ts';
