/** Who a node is: the kubeconfigs of its kubelet and of its kube-proxy, signed by the cluster. */
import { X509Certificate } from 'node:crypto';
import { join } from 'node:path';
import { writeFileAtomically } from '../../disk/atomic-file.ts';
import {
  ConfigError,
  type KubeClient,
  loadConfig,
  newSigningRequest,
  requestCertificate,
} from '../../kube/index.ts';

export interface NodeCredentials {
  kubelet: string;
  proxy: string;
}

interface Identity {
  file: string;
  commonName: string;
  organizations: string[];
  signerName: string;
}

export interface CredentialOptions {
  /** An administrator. */
  client: KubeClient;
  node: string;
  directory: string;
  /** The way of this node to the API server. */
  server: string;
  signal: AbortSignal;
}

/** The kubeconfigs of a node; what is missing, for another server or cluster, or past half its life is made anew. */
export async function nodeCredentials(options: CredentialOptions): Promise<NodeCredentials> {
  const { node, directory } = options;
  const kubelet: Identity = {
    file: join(directory, 'kubelet.kubeconfig'),
    commonName: `system:node:${node}`,
    organizations: ['system:nodes'],
    signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
  };
  const proxy: Identity = {
    file: join(directory, 'kube-proxy.kubeconfig'),
    commonName: 'system:kube-proxy',
    organizations: [],
    signerName: 'kubernetes.io/kube-apiserver-client',
  };
  await Promise.all([ensure(kubelet, options), ensure(proxy, options)]);
  return { kubelet: kubelet.file, proxy: proxy.file };
}

async function ensure(identity: Identity, options: CredentialOptions): Promise<void> {
  const ca = options.client.config.ca ?? '';
  if (await isCurrent(identity.file, options.server, ca)) return;
  const { commonName, organizations, signerName } = identity;
  const { key, request } = newSigningRequest({ commonName, organizations });
  const certificate = await requestCertificate(options.client, {
    namePrefix: `${options.node}-`,
    request,
    signerName,
    usages: ['digital signature', 'client auth'],
    approve: true,
    signal: options.signal,
  });
  const text = kubeconfig({ server: options.server, ca, user: commonName, certificate, key });
  writeFileAtomically(identity.file, text, 0o600);
}

async function isCurrent(file: string, server: string, ca: string): Promise<boolean> {
  try {
    const config = await loadConfig({ path: file, env: {} });
    const { cert = '' } = await config.credentials.current();
    const certificate = new X509Certificate(cert);
    const from = Date.parse(certificate.validFrom);
    const halfLife = from + (Date.parse(certificate.validTo) - from) / 2;
    return (
      config.server === server &&
      config.ca === ca &&
      certificate.verify(new X509Certificate(ca).publicKey) &&
      Date.now() < halfLife
    );
  } catch (error) {
    // Not there yet, or damaged: it can always be made anew.
    if (error instanceof ConfigError || (error as NodeJS.ErrnoException).code?.startsWith('ERR_OSSL'))
      return false;
    throw error;
  }
}

/** JSON is YAML. */
function kubeconfig(parts: {
  server: string;
  ca: string;
  user: string;
  certificate: string;
  key: string;
}): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [
      { name: 'tidegate', cluster: { server: parts.server, 'certificate-authority-data': base64(parts.ca) } },
    ],
    users: [
      {
        name: parts.user,
        user: {
          'client-certificate-data': base64(parts.certificate),
          'client-key-data': base64(parts.key),
        },
      },
    ],
    contexts: [{ name: 'tidegate', context: { cluster: 'tidegate', user: parts.user } }],
    'current-context': 'tidegate',
  };
  return `${JSON.stringify(config, undefined, 2)}\n`;
}
