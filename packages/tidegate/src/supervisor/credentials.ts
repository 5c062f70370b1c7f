/**
 * The credentials of a node. The hub and the kubelet share the node's client certificate: the hub presents it to the
 * API server, the kubelet presents it to the hub. The NodePort proxy uses a service account token instead, like
 * kube-proxy in other clusters, because a hub can pass a token on to the API server but not a client certificate.
 */
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { writeFileAtomically } from '@tidegate/disk';
import { ConfigError, type Credential, type KubeClient, loadConfig } from '@tidegate/kube';
import { newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';

/** Paths of kubeconfig files. */
export interface NodeCredentials {
  hub: string;
  kubelet: string;
  proxy: string;
}

/** Where the credentials of a node are requested and stored. */
export interface CredentialOptions {
  /** A client with administrator rights, which approves the signing request. */
  client: KubeClient;
  node: string;
  directory: string;
  /** The URL at which the node's hub reaches the API server. */
  server: string;
  /** The URL of the hub, for everything else on the node. */
  hub: string;
  /** The file that holds the kube-proxy token. */
  proxyTokenFile: string;
  signal: AbortSignal;
}

/**
 * Writes the kubeconfig files of a node. The certificate is reused unless it is missing, was signed by another CA,
 * or is past half of its lifetime.
 */
export async function nodeCredentials(options: CredentialOptions): Promise<NodeCredentials> {
  const { node, directory, server, hub, proxyTokenFile } = options;
  const ca = options.client.config.ca ?? '';
  const files = {
    hub: join(directory, 'hub.kubeconfig'),
    kubelet: join(directory, 'kubelet.kubeconfig'),
    proxy: join(directory, 'kube-proxy.kubeconfig'),
  };
  const { cert = '', key = '' } = (await storedCertificate(files.hub, ca)) ?? (await newCertificate(options));
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

/** The certificate in an existing kubeconfig, if it is from this CA and not past half of its lifetime. */
async function storedCertificate(file: string, ca: string): Promise<Credential | undefined> {
  try {
    const { credentials } = await loadConfig({ path: file, env: {} });
    const stored = await credentials.current();
    const certificate = new X509Certificate(stored.cert ?? '');
    const from = Date.parse(certificate.validFrom);
    const halfLife = from + (Date.parse(certificate.validTo) - from) / 2;
    const isGood = certificate.verify(new X509Certificate(ca).publicKey) && Date.now() < halfLife;
    return isGood ? stored : undefined;
  } catch (error) {
    // The file is missing or damaged; a new certificate can always be requested.
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

/** Writes the kubeconfig as JSON, which is valid YAML. */
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
