/**
 * The annotations of ingress-nginx, as data. Each is in exactly one table: `honored.ts` (Tidegate does what it asks for),
 * `refused.ts` (it protects something, and Tidegate does not do what it asks for) or `ignored.ts` (Tidegate does without
 * it). Admission, the compiler and the documentation read these tables. To implement an annotation, move its entry.
 *
 * `snippets` names typed forms of directives that are refused.
 *
 * An Ingress has `nginx.ingress.kubernetes.io/auth-snippet`: `read.ts` finds it in the table of refused ones and returns a
 * problem. Admission rejects an Ingress with this problem. If it exists nevertheless, its hosts respond with 503, and the
 * problem becomes an event. Not only its paths: spellings that a backend takes for the same path, for example `//admin` for
 * `/admin`, would reach the backend through less specific paths of other Ingresses.
 */
export { DOCUMENTED } from './documented.ts';
export { HONORED } from './honored.ts';
export { IGNORED } from './ignored.ts';
export { NGINX_PREFIX, type NginxAnnotations, readNginxAnnotations } from './read.ts';
export { REFUSED } from './refused.ts';
