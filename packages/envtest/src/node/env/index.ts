/**
 * The environment of a container.
 *
 * One container: `PodEnvironment` collects the Services of the namespace (`service-links.ts`), `envFrom`, the address of the API server (`api-server.ts`) and `env`,
 * with pod fields (`fields.ts`), resources (`resources.ts`) and keys of ConfigMaps and Secrets; `expand.ts` replaces
 * `$(NAME)` in values and arguments; `kubeconfig.ts` leads programs to their token.
 */
export { PodEnvironment } from './environment.ts';
export { expand } from './expand.ts';
export { fieldValue } from './fields.ts';
export { type Allocatable, resourceValue } from './resources.ts';
