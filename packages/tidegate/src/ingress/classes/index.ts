/**
 * Classes: whose Ingresses we serve, and what was asked for. An IngressClass is ours when drivers.ts knows its
 * controller; resolve.ts finds its parameters, settings.ts understands them, families.ts puts classes together that
 * share an address. ClassTable follows the cluster and says which family has changed.
 */
export { ClassTable, classesOf } from './class-table.ts';
export { isOwnProgram, isWorkloadDriver } from './drivers.ts';
export { classFamilyKey, type Family, sharedFamilyKey } from './families.ts';
export { referenceOf } from './resolve.ts';
