/** Objects as an older API server knows them. What a server supports is found with discovery, never by its version. */
import type { KubeClient, KubeObject } from '@tidegate/kube';

/** Kinds that had an earlier version with the same fields. */
const EARLIER: Readonly<Record<string, string>> = {
  'policy/v1 PodDisruptionBudget': 'policy/v1beta1',
};

/** Kubernetes 1.30 and later serve it: a policy can limit which fields an account changes. */
export const servesPolicies = (client: KubeClient): Promise<boolean> =>
  client.discovery.serves({
    group: 'admissionregistration.k8s.io',
    version: 'v1',
    resource: 'validatingadmissionpolicies',
  });

/** API servers before Kubernetes 1.25 refuse these rules of CRDs. The webhook applies the same rules. */
export const SCHEMA_RULES = 'x-kubernetes-validations';

export async function adaptToServer(
  client: KubeClient,
  objects: readonly KubeObject[],
): Promise<KubeObject[]> {
  const served = new Set(
    (await client.discovery.resources()).map(({ group, version, kind }) =>
      [group === '' ? version : `${group}/${version}`, kind].join(' '),
    ),
  );
  // Both came with Kubernetes 1.21.
  const hasPortRanges = served.has('policy/v1 PodDisruptionBudget');
  return objects.map((object) => {
    if (object.kind === 'NetworkPolicy') return hasPortRanges ? object : withSinglePorts(object as Policy);
    const kind = `${object.apiVersion} ${object.kind}`;
    const earlier = EARLIER[kind];
    const usesEarlier = earlier !== undefined && !served.has(kind) && served.has(`${earlier} ${object.kind}`);
    return usesEarlier ? { ...object, apiVersion: earlier } : object;
  });
}

interface Port {
  readonly port: number;
  readonly endPort?: number;
}

interface Policy extends KubeObject {
  readonly spec: { readonly ingress?: readonly { readonly ports?: readonly Port[] }[] };
}

/** Older API servers refuse `endPort` of NetworkPolicies. */
export const withSinglePorts = (policy: Policy): Policy => ({
  ...policy,
  spec: {
    ...policy.spec,
    ingress: (policy.spec.ingress ?? []).map(({ ports, ...rule }) => ({
      ...rule,
      ...(ports && { ports: ports.flatMap(singlePorts) }),
    })),
  },
});

const singlePorts = ({ endPort, ...first }: Port): Port[] =>
  endPort === undefined
    ? [first]
    : Array.from({ length: endPort - first.port + 1 }, (_, i) => ({ ...first, port: first.port + i }));
