/** Finds the problems that an Ingress would have if it were created now. Pure. */

import { type Ingress, keyOf, type Secret, type Service } from '@tidegate/kube';
import { Compiler, type IngressProblem, readIngress } from '../../ingress/compile/index.ts';

/** The objects in the cluster that an Ingress can conflict with or refer to. */
export interface ExistingObjects {
  /** Ingresses of the class that have a rule for the host. */
  ingressesNaming(className: string, host: string): readonly Ingress[];
  service(key: string): Service | undefined;
  secret(key: string): Secret | undefined;
}

/**
 * Compiles the Ingress as a router does, together with the Ingresses for the same hosts. It always counts as the
 * youngest of them, even on update: an old Ingress that adds a host today has no older claim to it than a new one.
 */
export function problemsIfCreated(
  ingress: Ingress,
  className: string,
  existing: ExistingObjects,
  now: number,
): readonly IngressProblem[] {
  const { creationTimestamp: _, ...metadata } = ingress.metadata;
  const candidate = { ...ingress, metadata };
  const key = keyOf(candidate);
  const { claims, tls } = readIngress(candidate);
  const compiler = new Compiler({ classNames: [className], now: () => now });
  for (const host of claims.keys()) {
    for (const other of existing.ingressesNaming(className, host)) compiler.put('Ingress', other);
  }
  compiler.put('Ingress', candidate);
  const upstreams = [...claims.values()].flatMap(({ routes, fallback }) =>
    [...routes, ...(fallback === undefined ? [] : [fallback])].map(({ upstream }) => upstream),
  );
  for (const { namespace, service } of upstreams) {
    const found = existing.service(`${namespace}/${service}`);
    if (found !== undefined) compiler.put('Service', found);
  }
  for (const { secret } of tls) {
    const found = existing.secret(secret);
    if (found !== undefined) compiler.put('Secret', found);
  }
  const { outcomes } = compiler.flush();
  return outcomes.set.find((outcome) => outcome.ingress === key)?.problems ?? [];
}
