/**
 * The keys of the ConfigMap of ingress-nginx, as parameters of a class: `spec.parameters` of an IngressClass can refer to the
 * ConfigMap that a cluster has already. Each key is in the table of `keys.ts`. `read.ts` turns those that Tidegate honors into
 * settings of routers, refuses those that protect something that Tidegate does not protect, and reports the others.
 */
export { CONFIG_KEYS } from './keys.ts';
export { configKeyVerdict, defaultAnnotations, readNginxConfig } from './read.ts';
