import { INGRESS_CONTROLLER_PREFIX } from '../../api/index.ts';

/** Data planes by `spec.controller` of an IngressClass. Tidegate ignores classes of any other controller. */
const DRIVERS: ReadonlyMap<string, string> = new Map(
  ['nginx', 'embedded'].map((driver) => [`${INGRESS_CONTROLLER_PREFIX}${driver}`, driver]),
);

/** Undefined if the controller is not one of Tidegate. */
export const driverOf = (controller: string | undefined): string | undefined => DRIVERS.get(controller ?? '');

/** The upstream ingress-nginx controller. Only an L7Router can select it, in `spec.driver`; a class cannot. */
const INGRESS_NGINX = 'ingress-nginx';

/** Whether Tidegate runs the data plane as a workload in the cluster. Other drivers have their own provisioners. */
export const isWorkloadDriver = (driver: string): boolean =>
  [...DRIVERS.values(), INGRESS_NGINX].includes(driver);

/** Whether the workload runs `tidegate router`. */
export const isOwnProgram = (driver: string): boolean => driver !== INGRESS_NGINX;
