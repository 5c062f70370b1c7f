import { INGRESS_CONTROLLER_PREFIX } from '../../api/index.ts';

/** Who carries the bytes, by `spec.controller` of an IngressClass. Classes of any other controller are not ours. */
const DRIVERS: ReadonlyMap<string, string> = new Map(
  ['nginx', 'embedded'].map((driver) => [`${INGRESS_CONTROLLER_PREFIX}${driver}`, driver]),
);

export const driverOf = (controller: string | undefined): string | undefined => DRIVERS.get(controller ?? '');

/** Somebody else's program. It has no class of its own: whoever wants it says so in the L7Router. */
const INGRESS_NGINX = 'ingress-nginx';

/** Whether what carries the bytes is a workload in the cluster, made by us. Others have provisioners of their own. */
export const isWorkloadDriver = (driver: string): boolean =>
  [...DRIVERS.values(), INGRESS_NGINX].includes(driver);

/** Whether that runs `tidegate router`. */
export const isOwnProgram = (driver: string): boolean => driver !== INGRESS_NGINX;
