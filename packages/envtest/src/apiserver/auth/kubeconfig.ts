import { existsSync, readFileSync } from 'node:fs';
import { writeFileAtomically } from '@tidegate/disk';

export interface KubeconfigOptions {
  path: string;
  /** For example `https://127.0.0.1:6443`. */
  server: string;
  /** PEM texts that are embedded in the file. */
  ca: string;
  certificate: string;
  key: string;
  /** Name of the context and the cluster; the user is called `<context>-admin`. */
  context: string;
}

/**
 * Writes a kubeconfig with one context. It is a separate file and is never merged into ~/.kube/config. A file that is
 * correct is left alone, so that a server can restart on a full disk.
 */
export function writeKubeconfig(options: KubeconfigOptions): void {
  const { context, server } = options;
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  // Every JSON string is a valid YAML string.
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
  if (existsSync(options.path) && readFileSync(options.path, 'utf8') === text) return;
  writeFileAtomically(options.path, text, 0o600);
}
