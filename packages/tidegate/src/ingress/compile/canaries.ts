/** Canary Ingresses: their backends get some requests of the same paths of another Ingress. Pure. */
import type { HostName, Route, WeightedUpstream } from '../model.ts';
import { hasSameGuards, isGuarded } from '../policy/index.ts';
import { closedUpstream } from './backend.ts';
import type { HostClaim, Share, Wanted } from './facts.ts';
import { type IngressProblem, ingressProblem } from './ingress-problem.ts';

/**
 * Adds canaries to the routes of a host. As in ingress-nginx, all policies are those of the other Ingress, and a path has one
 * canary. `shares`: what each canary Ingress got.
 */
export function withCanaries(
  host: HostName,
  routes: readonly Route[],
  canaries: readonly HostClaim[],
): { routes: readonly Route[]; shares: ReadonlyMap<string, Share> } {
  const shares = new Map<string, Share>();
  if (canaries.length === 0) return { routes, shares };
  const result = [...routes];
  for (const claim of canaries) {
    const served: Wanted<unknown>[] = [];
    const problems: IngressProblem[] = [];
    for (const wanted of claim.routes) {
      const at = result.findIndex((route) => isSamePath(route, wanted.value));
      const wrong = problemOf(host, wanted, claim, result[at]);
      if (wrong === undefined) {
        result[at] = withCanary(result[at]!, wanted.value, claim);
        served.push(wanted);
      } else problems.push(ingressProblem('CanaryNotServed', wanted.field, wrong));
    }
    if (claim.fallback !== undefined)
      problems.push(
        ingressProblem(
          'CanaryNotServed',
          claim.fallback.field,
          'A canary has no default backend of its own: it is ignored. Write a path.',
        ),
      );
    shares.set(claim.ingress.key, { served, problems });
  }
  return { routes: result, shares };
}

/** A path of the other Ingress can be a regular expression because of its annotations. */
const isSamePath = (route: Route, canary: Route): boolean =>
  route.path === canary.path &&
  (route.match === canary.match || route.match === 'Regex' || canary.match === 'Regex');

/** Why a path of a canary gets no requests. */
function problemOf(
  host: HostName,
  { value: { path, action } }: Wanted<Route>,
  { ingress }: HostClaim,
  main: Route | undefined,
): string | undefined {
  const where = `${path} of ${host === '' ? 'all hosts' : host}`;
  if (main === undefined || main.action.source.namespace !== ingress.namespace)
    return `The canary for ${where} gets no requests: no other Ingress of the namespace has this path. Create an Ingress without the annotation canary.`;
  // A closed route has no guards: it must stay closed.
  if (main.action.backends.some(({ upstream }) => upstream === closedUpstream(ingress.namespace).id))
    return `The canary for ${where} gets no requests: the path is closed, because an annotation of an Ingress is invalid or not supported.`;
  if (main.action.backends.some(({ canary }) => canary !== undefined))
    return `The canary for ${where} gets no requests: an older Ingress is the canary of this path.`;
  if (isGuarded(action.policy) && !hasSameGuards(action.policy, main.action.policy))
    return `The canary for ${where} gets no requests: it limits access in another way than Ingress ${main.action.source.namespace}/${main.action.source.name}, whose annotations apply. Use the same annotations in both.`;
  return undefined;
}

function withCanary(route: Route, { action: { backends } }: Route, { asks: { canary } }: HostClaim): Route {
  const added: WeightedUpstream[] = backends.map(({ upstream }) => ({
    upstream,
    weight: 0,
    ...(canary && { canary }),
  }));
  return { ...route, action: { ...route.action, backends: [...route.action.backends, ...added] } };
}
