import { INGRESS_CLASSES, INGRESSES, type Informers, type Ingress, SECRETS, SERVICES } from '@tidegate/kube';
import { classNameOf, readIngress } from '../../ingress/compile/index.ts';
import type { IngressSources } from './ingress.ts';

/** Other Secrets cannot hold a serving certificate, so the manager does not read them. */
const TLS_SECRETS = { fieldSelector: 'type=kubernetes.io/tls' };

const HOST_INDEX = 'admission/host';
const hostsOf = (ingress: Ingress): string[] => {
  const className = classNameOf(ingress);
  if (className === undefined) return [];
  return [...readIngress(ingress).claims.keys()].map((host) => keyOfHost(className, host));
};
const keyOfHost = (className: string, host: string): string => `${className}\n${host}`;

/** Reads from informer caches. `synced` resolves when they are complete. */
export function ingressSources(informers: Informers): IngressSources & { synced: Promise<unknown> } {
  const classes = informers.for(INGRESS_CLASSES);
  const ingresses = informers.for(INGRESSES);
  const services = informers.for(SERVICES);
  const secrets = informers.for(SECRETS, TLS_SECRETS);
  ingresses.addIndex(HOST_INDEX, hostsOf);
  return {
    classes: classes.cache,
    ingressesNaming: (className, host) => ingresses.cache.byIndex(HOST_INDEX, keyOfHost(className, host)),
    service: (key) => services.cache.get(key),
    secret: (key) => secrets.cache.get(key),
    synced: Promise.all([classes, ingresses, services, secrets].map(({ synced }) => synced)),
  };
}
