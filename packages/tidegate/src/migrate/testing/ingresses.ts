/** Ingresses for tests, as ingress-nginx would serve them. */
import type { Ingress } from '@tidegate/kube';

interface Wish {
  name?: string;
  namespace?: string;
  host?: string;
  /** A path, or a path with its type. */
  paths: (string | [path: string, type: string])[];
  annotations?: Record<string, string>;
  tls?: boolean;
  className?: string;
}

let count = 0;

/** Each Ingress is younger than those before it. The Service of a path is named after it. */
export function ingressOf(wish: Wish): Ingress {
  const { name = `i${++count}`, namespace = 'default', host = 'a.example.com', paths } = wish;
  const { annotations = {}, tls = false, className = 'nginx' } = wish;
  count++;
  const prefixed = Object.entries(annotations).map(([key, value]) => [
    key.includes('/') ? key : `nginx.ingress.kubernetes.io/${key}`,
    value,
  ]);
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: {
      name,
      namespace,
      annotations: Object.fromEntries(prefixed),
      creationTimestamp: new Date(count * 1000).toISOString(),
    },
    spec: {
      ingressClassName: className,
      ...(tls && { tls: [{ hosts: [host], secretName: 'tls' }] }),
      rules: [
        {
          ...(host !== '' && { host }),
          http: {
            paths: paths.map((each) => {
              const [path, pathType] = typeof each === 'string' ? [each, 'Prefix'] : each;
              return {
                path,
                pathType,
                backend: { service: { name: serviceFor(path), port: { number: 80 } } },
              };
            }),
          },
        },
      ],
    },
  };
}

/** For example `s-api-v1` for `/api/v1`. */
export const serviceFor = (path: string): string =>
  `s${path.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`.replace(/-$/, '');
