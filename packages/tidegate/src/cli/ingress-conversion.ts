/** Conversion of Ingresses and IngressClasses from before networking.k8s.io/v1. Pure. */
import type { KubeObject } from '@tidegate/kube';
import { INGRESS_CLASS_PARAMETERS, SYSTEM_NAMESPACE } from '../api/index.ts';

interface OldBackend {
  serviceName?: string;
  servicePort?: number | string;
  resource?: unknown;
}
interface OldPath {
  path?: string;
  pathType?: string;
  backend?: OldBackend;
}
interface OldSpec {
  backend?: OldBackend;
  rules?: { host?: string; http?: { paths?: OldPath[] } }[];
}

/** An Ingress of `extensions/v1beta1` or `networking.k8s.io/v1beta1`. */
export function toIngress(object: KubeObject): KubeObject {
  const { backend, rules, ...spec } = (object.spec ?? {}) as OldSpec;
  return {
    ...object,
    apiVersion: 'networking.k8s.io/v1',
    spec: {
      ...spec,
      ...(backend && { defaultBackend: toBackend(backend) }),
      ...(rules && { rules: rules.map(toRule) }),
    },
  };
}

const toRule = ({ http, ...rule }: NonNullable<OldSpec['rules']>[number]): object => ({
  ...rule,
  ...(http && { http: { ...http, paths: (http.paths ?? []).map(toPath) } }),
});

/** In v1, `pathType` is required. Without it, old versions meant `ImplementationSpecific`. */
const toPath = ({ backend, pathType = 'ImplementationSpecific', path, ...rest }: OldPath): object => ({
  ...(path !== undefined && { path }),
  pathType,
  backend: toBackend(backend ?? {}),
  ...rest,
});

function toBackend({ serviceName, servicePort, resource }: OldBackend): object {
  if (resource !== undefined) return { resource };
  const port = typeof servicePort === 'string' ? { name: servicePort } : { number: servicePort };
  return { service: { name: serviceName ?? '', port } };
}

/**
 * An IngressClass of `network.k8s.io/v1`, the first proposal of the kind: its provisioner is the controller, and its
 * parameters become an object of their own. It is cluster-scoped, so a namespace is dropped.
 */
export function toIngressClass(object: KubeObject): KubeObject[] {
  const { provisioner, parameters, metadata, ...rest } = object as KubeObject & {
    provisioner?: string;
    parameters?: Record<string, string>;
  };
  const { namespace: _, ...named } = metadata ?? {};
  const { group, version } = INGRESS_CLASS_PARAMETERS;
  const kind = 'IngressClassParameters';
  const hasParameters = parameters !== undefined && Object.keys(parameters).length > 0;
  const reference = { apiGroup: group, kind, name: named.name, scope: 'Cluster' };
  const ingressClass = {
    ...rest,
    apiVersion: 'networking.k8s.io/v1',
    metadata: named,
    spec: { controller: provisioner ?? '', ...(hasParameters && { parameters: reference }) },
  };
  if (!hasParameters) return [ingressClass];
  const own = {
    apiVersion: `${group}/${version}`,
    kind,
    metadata: { name: named.name, namespace: SYSTEM_NAMESPACE },
    parameters,
  };
  return [own as KubeObject, ingressClass];
}
