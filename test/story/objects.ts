/** The objects that users add in the course of the story. */
import type { Ingress, KubeObject } from '@tidegate/kube';

/** `paths` maps each path to a Service. */
export function ingress(name: string, pool: string, paths: Record<string, string>, tls?: string): Ingress {
  const host = `${name}.example.com`;
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name: `${name}-${pool}` },
    spec: {
      ingressClassName: pool,
      ...(tls !== undefined && { tls: [{ hosts: [host], secretName: tls }] }),
      rules: [
        {
          host,
          http: {
            paths: Object.entries(paths).map(([path, service]) => ({
              path,
              pathType: 'Prefix',
              backend: { service: { name: service, port: { number: 80 } } },
            })),
          },
        },
      ],
    },
  };
}

/** One pod in each pool. */
export function application(name: string, pools: readonly string[]): KubeObject & { spec: object } {
  const labels = { app: name };
  // No policy means Always for an image without a tag, and a site without a link cannot pull.
  const container = { name, image: name, imagePullPolicy: 'IfNotPresent', ports: [{ containerPort: 8080 }] };
  return {
    apiVersion: 'apps.kubeedge.io/v1alpha1',
    kind: 'EdgeApplication',
    metadata: { name },
    spec: {
      workloadTemplate: {
        manifests: [
          {
            apiVersion: 'apps/v1',
            kind: 'Deployment',
            metadata: { name },
            spec: {
              selector: { matchLabels: labels },
              template: { metadata: { labels }, spec: { containers: [container] } },
            },
          },
          {
            apiVersion: 'v1',
            kind: 'Service',
            metadata: { name },
            spec: { selector: labels, ports: [{ port: 80, targetPort: 8080 }] },
          },
        ],
      },
      workloadScope: { targetNodeGroups: pools.map((pool) => ({ name: pool })) },
    },
  };
}
