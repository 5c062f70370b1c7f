/** Objects of about 2 KB in wire format. */
export const configMap = (name: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name },
    data: { text: 'x'.repeat(1900) },
  });

/** A pod as a Deployment would create it, bound to a node. */
export const pod = (name: string, labels: Record<string, string> = {}): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'bench', ...labels }, annotations: { padding: 'x'.repeat(200) } },
    spec: {
      nodeName: 'node-1',
      containers: [
        {
          name: 'web',
          image: 'nginx:1.27',
          ports: [{ containerPort: 80 }],
          env: [{ name: 'SITE', value: 'hangzhou' }],
          readinessProbe: { httpGet: { path: '/', port: 80 } },
        },
      ],
    },
  });
