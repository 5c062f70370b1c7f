/**
 * Ingress in `networking.k8s.io/v1beta1` and `extensions/v1beta1`: old manifests apply unchanged and are stored as
 * v1.
 */
import type { KubeObject } from '@tidegate/kube';
import type {
  Ingress,
  IngressBackend,
  IngressPath,
  IngressRule,
  IngressSpec,
  TypedReference,
} from './types.ts';

interface LegacyBackend {
  serviceName?: string;
  servicePort?: number | string;
  resource?: TypedReference;
}

interface LegacySpec extends Omit<IngressSpec, 'defaultBackend' | 'rules'> {
  backend?: LegacyBackend;
  rules?: (Omit<IngressRule, 'http'> & {
    http?: { paths?: (Omit<IngressPath, 'backend'> & { backend?: LegacyBackend })[] };
  })[];
}

const STORAGE = 'networking.k8s.io/v1';

export const legacyConversion = (apiVersion: string) => ({
  toStorage(object: KubeObject): KubeObject {
    const { backend, rules, ...spec } = (object.spec ?? {}) as LegacySpec;
    return {
      ...object,
      apiVersion: STORAGE,
      spec: {
        ...spec,
        ...(backend && { defaultBackend: toBackend(backend) }),
        ...(rules && {
          rules: rules.map((rule) => ({ ...rule, ...(rule.http && { http: toHttp(rule.http) }) })),
        }),
      },
    };
  },
  fromStorage(object: KubeObject): KubeObject {
    const { defaultBackend, rules, ...spec } = (object as Ingress).spec;
    return {
      ...object,
      apiVersion,
      spec: {
        ...spec,
        ...(defaultBackend && { backend: fromBackend(defaultBackend) }),
        ...(rules && {
          rules: rules.map((rule) => ({ ...rule, ...(rule.http && { http: fromHttp(rule.http) }) })),
        }),
      },
    };
  },
});

type LegacyHttp = NonNullable<NonNullable<LegacySpec['rules']>[number]['http']>;

const toHttp = ({ paths = [], ...http }: LegacyHttp) => ({
  ...http,
  paths: paths.map(({ backend, ...path }) => ({
    ...path,
    // Required in v1 and implied in v1beta1.
    pathType: path.pathType ?? 'ImplementationSpecific',
    backend: toBackend(backend ?? {}),
  })),
});

const fromHttp = ({ paths = [], ...http }: NonNullable<IngressRule['http']>) => ({
  ...http,
  paths: paths.map(({ backend, ...path }) => ({ ...path, backend: fromBackend(backend ?? {}) })),
});

function toBackend({ serviceName, servicePort, resource }: LegacyBackend): IngressBackend {
  const port = typeof servicePort === 'string' ? { name: servicePort } : { number: servicePort };
  const named = serviceName !== undefined || servicePort !== undefined;
  return {
    ...(named && { service: { name: serviceName ?? '', port: servicePort === undefined ? {} : port } }),
    ...(resource && { resource }),
  };
}

function fromBackend({ service, resource }: IngressBackend): LegacyBackend {
  return {
    ...(service && {
      serviceName: service.name,
      servicePort: service.port?.name || service.port?.number || 0,
    }),
    ...(resource && { resource }),
  };
}
