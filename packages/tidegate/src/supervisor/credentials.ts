/**
 * Who a node is. Its hub and its kubelet share the node's certificate; the hub goes to the API server with it, the
 * kubelet to the hub. What forwards NodePorts has a service account's token, as kube-proxy has elsewhere: a hub can pass
 * a token on, but not a certificate.
 */
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { writeFileAtomically } from '@tidegate/disk';
import {
  ConfigError,
  type Credential,
  type KubeClient,
  loadConfig,
  newSigningRequest,
  requestCertificate,
} from '@tidegate/kube';

/** Kubeconfigs. */
export interface NodeCredentials {
  hub: string;
  kubelet: string;
  proxy: string;
}

export interface CredentialOptions {
  /** An administrator. */
  client: KubeClient;
  node: string;
  directory: string;
  /** The way of the node's hub to the API server. */
  server: string;
  /** Where everything else on the node finds the hub. */
  hub: string;
  /** Where the token of kube-proxy is kept. */
  proxyTokenFile: string;
  signal: AbortSignal;
}

/** The kubeconfigs of a node; its certificate is made anew when it is missing, of another cluster, or past half its life. */
export async function nodeCredentials(options: CredentialOptions): Promise<NodeCredentials> {
  const { node, directory, server, hub, proxyTokenFile } = options;
  const ca = options.client.config.ca ?? '';
  const files = {
    hub: join(directory, 'hub.kubeconfig'),
    kubelet: join(directory, 'kubelet.kubeconfig'),
    proxy: join(directory, 'kube-proxy.kubeconfig'),
  };
  const { cert = '', key = '' } = (await heldCertificate(files.hub, ca)) ?? (await newCertificate(options));
  const user = {
    name: `system:node:${node}`,
    user: { 'client-certificate-data': base64(cert), 'client-key-data': base64(key) },
  };
  write(files.hub, { server, ca, user });
  write(files.kubelet, { server: hub, ca, user });
  write(files.proxy, { server: hub, ca, user: { name: 'kube-proxy', user: { tokenFile: proxyTokenFile } } });
  return files;
}

async function newCertificate({ client, node, signal }: CredentialOptions): Promise<Credential> {
  const { key, request } = newSigningRequest({
    commonName: `system:node:${node}`,
    organizations: ['system:nodes'],
  });
  const cert = await requestCertificate(client, {
    namePrefix: `${node}-`,
    request,
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
    usages: ['digital signature', 'client auth'],
    approve: true,
    signal,
  });
  return { cert, key };
}

async function heldCertificate(file: string, ca: string): Promise<Credential | undefined> {
  try {
    const { credentials } = await loadConfig({ path: file, env: {} });
    const held = await credentials.current();
    const certificate = new X509Certificate(held.cert ?? '');
    const from = Date.parse(certificate.validFrom);
    const halfLife = from + (Date.parse(certificate.validTo) - from) / 2;
    const isGood = certificate.verify(new X509Certificate(ca).publicKey) && Date.now() < halfLife;
    return isGood ? held : undefined;
  } catch (error) {
    // Not there yet, or damaged: it can always be made anew.
    if (error instanceof ConfigError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_OSSL'))
      return undefined;
    throw error;
  }
}

interface Access {
  server: string;
  ca: string;
  user: { name: string; user: object };
}

/** JSON is YAML. */
function write(file: string, { server, ca, user }: Access): void {
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'tidegate', cluster: { server, 'certificate-authority-data': base64(ca) } }],
    users: [user],
    contexts: [{ name: 'tidegate', context: { cluster: 'tidegate', user: user.name } }],
    'current-context': 'tidegate',
  };
  writeFileAtomically(file, `${JSON.stringify(config, undefined, 2)}\n`, 0o600);
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
