import { writeFileAtomically } from '@tidegate/disk';

export interface KubeconfigOptions {
  path: string;
  /** `https://127.0.0.1:6443` */
  server: string;
  /** PEM texts; they are embedded. */
  ca: string;
  certificate: string;
  key: string;
  /** Name of the context, the cluster and, with `-admin` behind it, the user. */
  context: string;
}

/** Writes a kubeconfig with one context: the file's own, never merged into somebody's ~/.kube/config. */
export function writeKubeconfig(options: KubeconfigOptions): void {
  const { context, server } = options;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  // JSON strings are YAML strings, whatever characters are in them.
  const quote = (text: string): string => JSON.stringify(text);
  const text = `apiVersion: v1
kind: Config
clusters:
- name: ${quote(context)}
  cluster:
    server: ${quote(server)}
    certificate-authority-data: ${base64(options.ca)}
users:
- name: ${quote(`${context}-admin`)}
  user:
    client-certificate-data: ${base64(options.certificate)}
    client-key-data: ${base64(options.key)}
contexts:
- name: ${quote(context)}
  context:
    cluster: ${quote(context)}
    user: ${quote(`${context}-admin`)}
current-context: ${quote(context)}
`;
  writeFileAtomically(options.path, text, 0o600);
}
