/** What would be wrong with an Ingress that comes now. Pure. */

import { type Ingress, keyOf, type Secret, type Service } from '@tidegate/kube';
import { Compiler, type IngressProblem, readIngress } from '../../ingress/compile/index.ts';

/** What there is already. */
export interface Neighbourhood {
  /** Ingresses of the class that name the host. */
  ingressesNaming(className: string, host: string): readonly Ingress[];
  service(key: string): Service | undefined;
  secret(key: string): Secret | undefined;
}

/**
 * Compiled as a router would, together with those that name the same hosts and nothing else. Whoever it is, here it is
 * the youngest: an old Ingress that names another host today has no better claim to it than a new one.
 */
export function problemsOfNewcomer(
  ingress: Ingress,
  className: string,
  neighbourhood: Neighbourhood,
  now: number,
): readonly IngressProblem[] {
  const { creationTimestamp: _, ...metadata } = ingress.metadata;
  const newcomer = { ...ingress, metadata };
  const key = keyOf(newcomer);
  const { claims, tls } = readIngress(newcomer);
  const compiler = new Compiler({ classNames: [className], now: () => now });
  for (const host of claims.keys()) {
    for (const other of neighbourhood.ingressesNaming(className, host)) compiler.put('Ingress', other);
  }
  compiler.put('Ingress', newcomer);
  const upstreams = [...claims.values()].flatMap(({ routes, fallback }) =>
    [...routes, ...(fallback === undefined ? [] : [fallback])].map(({ upstream }) => upstream),
  );
  for (const { namespace, service } of upstreams) {
    const found = neighbourhood.service(`${namespace}/${service}`);
    if (found !== undefined) compiler.put('Service', found);
  }
  for (const { secret } of tls) {
    const found = neighbourhood.secret(secret);
    if (found !== undefined) compiler.put('Secret', found);
  }
  const { outcomes } = compiler.flush();
  return outcomes.set.find((outcome) => outcome.ingress === key)?.problems ?? [];
}
