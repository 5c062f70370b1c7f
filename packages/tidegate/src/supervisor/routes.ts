import type { Ingress } from '@tidegate/kube';
import type { L7Router } from '../api/index.ts';
import { classesOf } from '../ingress/classes/index.ts';
import { classNameOf } from '../ingress/compile/index.ts';

/** One path of an Ingress. */
export interface RouteReport {
  /** `*` for all that have no rule of their own. */
  host: string;
  path: string;
  /** Its namespace and name. */
  ingress: string;
  ingressClass?: string;
  /** Such as `shop:80`, in the namespace of the Ingress. */
  service?: string;
  /** Who serves it. */
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

/** What is for all hosts is on every router of the class. */
const serves = (router: L7Router, ingressClass: string | undefined, host: string | undefined): boolean =>
  ingressClass !== undefined &&
  classesOf(router).includes(ingressClass) &&
  (host === undefined || (router.spec.hosts?.includes(host) ?? true));

const nameOf = ({ metadata }: L7Router): string => `${metadata.name}`;
