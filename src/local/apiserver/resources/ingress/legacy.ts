/** `networking.k8s.io/v1beta1` and `extensions/v1beta1` Ingress: old manifests apply unchanged and are stored as v1. */
import type { KubeObject } from '../../../../kube/object.ts';
import { builtinSchema } from '../../schema/builtin.ts';
import type { Schema } from '../../schema/types.ts';
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
    // What v1 makes people say was implied before.
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

/** The schema of v1, with the backend as it was before. */
export function legacyIngressSchema(): Schema {
  const v1 = builtinSchema(STORAGE, 'Ingress');
  const spec = v1.properties?.spec ?? {};
  const path = pathSchema(spec);
  const backend: Schema = {
    type: 'object',
    properties: {
      serviceName: { type: 'string' },
      servicePort: { 'x-kubernetes-int-or-string': true },
      resource: path?.properties?.backend?.properties?.resource ?? { type: 'object' },
    },
  };
  const { defaultBackend: _, ...specProperties } = spec.properties ?? {};
  return {
    ...v1,
    properties: {
      ...v1.properties,
      spec: {
        ...spec,
        properties: { ...specProperties, backend, rules: withBackend(spec.properties?.rules ?? {}, backend) },
      },
    },
  };
}

const pathSchema = (spec: Schema): Schema | undefined =>
  spec.properties?.rules?.items?.properties?.http?.properties?.paths?.items;

function withBackend(rules: Schema, backend: Schema): Schema {
  const rule = rules.items ?? {};
  const http = rule.properties?.http ?? {};
  const paths = http.properties?.paths ?? {};
  const item: Schema = {
    ...paths.items,
    properties: { ...paths.items?.properties, backend },
    required: ['backend'],
  };
  const legacyHttp: Schema = {
    ...http,
    properties: { ...http.properties, paths: { ...paths, items: item } },
  };
  return { ...rules, items: { ...rule, properties: { ...rule.properties, http: legacyHttp } } };
}
