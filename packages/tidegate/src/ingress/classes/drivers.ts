/** The upstream ingress-nginx controller. Only an L7Router can select it, in `spec.driver`; a class cannot. */
const INGRESS_NGINX = 'ingress-nginx';

const WORKLOAD_DRIVERS: ReadonlySet<string> = new Set(['nginx', 'embedded', INGRESS_NGINX]);

/** Whether Tidegate runs the data plane as a workload in the cluster. Other drivers have their own provisioners. */
export const isWorkloadDriver = (driver: string): boolean => WORKLOAD_DRIVERS.has(driver);

/** Whether the workload runs `tidegate router`. */
export const isOwnProgram = (driver: string): boolean => driver !== INGRESS_NGINX;
