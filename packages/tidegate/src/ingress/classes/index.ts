/**
 * Classes: which IngressClasses Tidegate serves, and with which parameters. drivers.ts knows the controller names,
 * resolve.ts finds the parameters of a class, settings.ts parses them, and families.ts groups classes that share an
 * address. ClassTable follows the cluster and reports which families have changed.
 */
export { ClassTable, classesOf } from './class-table.ts';
export { departedClassesOf, departedClassRecord } from './departed-classes.ts';
export { isOwnProgram, isWorkloadDriver } from './drivers.ts';
export { classFamilyKey, type Family, sharedFamilyKey } from './families.ts';
export { annotatedParameters, type ParametersReference, referenceOf } from './resolve.ts';
