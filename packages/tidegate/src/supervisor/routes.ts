import type { Ingress } from '@tidegate/kube';
import type { L7Router } from '../api/index.ts';
import { classesOf } from '../ingress/classes/index.ts';
import { classNameOf } from '../ingress/compile/index.ts';

/** One path of an Ingress and the front doors that serve it. */
export interface RouteReport {
  /** `*` for a rule without a host and for a default backend. */
  host: string;
  path: string;
  /** Namespace and name, for example `default/shop`. */
  ingress: string;
  ingressClass?: string;
  /** For example `shop:80`, in the namespace of the Ingress. */
  service?: string;
  frontDoors: string[];
}

type Spec = NonNullable<Ingress['spec']>;
type Backend = NonNullable<Spec['defaultBackend']>;

export const routeReports = (ingresses: readonly Ingress[], routers: readonly L7Router[]): RouteReport[] =>
  ingresses.flatMap((ingress) => {
    const { namespace, name } = ingress.metadata;
    const ingressClass = classNameOf(ingress);
    return rulesOf(ingress.spec ?? {}).map(({ host, path, backend }) => ({
      host: host ?? '*',
      path,
      ingress: `${namespace}/${name}`,
      ingressClass,
      service: serviceOf(backend),
      frontDoors: routers.filter((router) => serves(router, ingressClass, host)).map(nameOf),
    }));
  });

type Rule = { host?: string; path: string; backend: Backend };

function rulesOf({ rules = [], defaultBackend }: Spec): Rule[] {
  const paths = rules.flatMap(({ host, http }) =>
    (http?.paths ?? []).map(({ path = '/', backend }) => ({ host, path, backend })),
  );
  return defaultBackend === undefined ? paths : [...paths, { path: '/', backend: defaultBackend }];
}

function serviceOf({ service }: Backend): string | undefined {
  if (service === undefined) return undefined;
  return `${service.name}:${service.port?.name ?? service.port?.number}`;
}

/** A rule without a host is served by every router of the class. */
const serves = (router: L7Router, ingressClass: string | undefined, host: string | undefined): boolean =>
  ingressClass !== undefined &&
  classesOf(router).includes(ingressClass) &&
  (host === undefined || (router.spec.hosts?.includes(host) ?? true));

const nameOf = ({ metadata }: L7Router): string => `${metadata.name}`;
