import {
  type Clock,
  type ClusterConfig,
  ConfigError,
  type Credential,
  type CredentialSource,
  type KubeClient,
  type Logger,
  type Random,
} from '@tidegate/kube';
import { type KeyPair, newSigningRequest, requestCertificate } from '@tidegate/kube/certificates';
import { nodeUser } from '../identity/index.ts';
import { RenewedCertificate } from './renewed-certificate.ts';

export interface ClientCredentialsOptions {
  nodeName: string;
  /** Who may ask for a node's first certificate: a bootstrap token, usually. */
  bootstrap: ClusterConfig;
  /** Where the certificate is kept, with its key. */
  file: string;
  /** A client of the cluster with these credentials; closed after use. */
  connect(credentials: CredentialSource): KubeClient;
  clock: Clock;
  random: Random;
  log: Logger;
}

/**
 * The node's own credentials, for a node that has none yet: asks for its first client certificate with those of the
 * bootstrap kubeconfig, and renews it with itself. Whoever needs them before they are there waits.
 */
export class ClientCredentials implements CredentialSource {
  readonly #certificate: RenewedCertificate;
  readonly #first: Promise<void>;
  #credential: Credential | undefined;

  private constructor(certificate: RenewedCertificate) {
    this.#certificate = certificate;
    this.#first =
      certificate.current === undefined
        ? new Promise((resolve) => {
            const stop = certificate.onChange(() => {
              stop();
              resolve();
            });
          })
        : Promise.resolve();
  }

  static async open(options: ClientCredentialsOptions): Promise<ClientCredentials> {
    const { bootstrap, file, clock, random, log } = options;
    checkPinned(bootstrap);
    const certificate: RenewedCertificate = await RenewedCertificate.open({
      what: 'client certificate of the node',
      file,
      commonName: nodeUser(options.nodeName),
      // An expired one proves nothing any more: begin anew.
      obtain: (signal) => obtain(options, certificate.isInDate ? credentials : bootstrap.credentials, signal),
      fits: async () => true,
      clock,
      random,
      log,
    });
    const credentials = new ClientCredentials(certificate);
    return credentials;
  }

  /** Why there are none yet; undefined when there are. */
  get waitingFor(): string | undefined {
    return this.#certificate.waitingFor;
  }

  async current(): Promise<Credential> {
    await this.#first;
    const { certificate: cert, key } = this.#certificate.current!;
    if (this.#credential?.cert !== cert) this.#credential = { cert, key };
    return this.#credential!;
  }

  refresh(): Promise<Credential> {
    return this.current();
  }

  async run(signal: AbortSignal): Promise<void> {
    await this.#certificate.run(signal);
  }
}

/** Whoever sends a bootstrap token to a server it can not verify gives the token, and so a node, away. */
function checkPinned({ server, ca, insecureSkipTlsVerify }: ClusterConfig): void {
  if (server.startsWith('https:') && (ca === undefined || insecureSkipTlsVerify === true)) {
    throw new ConfigError(
      `the bootstrap kubeconfig does not say how to verify ${server}; give its cluster a certificate-authority or certificate-authority-data, and no insecure-skip-tls-verify`,
    );
  }
}

async function obtain(
  { nodeName, connect }: ClientCredentialsOptions,
  credentials: CredentialSource,
  signal: AbortSignal,
): Promise<KeyPair> {
  const { key, request } = newSigningRequest({
    commonName: nodeUser(nodeName),
    organizations: ['system:nodes'],
  });
  const client = connect(credentials);
  try {
    const certificate = await requestCertificate(client, {
      namePrefix: `tidegate-hub-client-${nodeName}-`,
      request,
      signerName: 'kubernetes.io/kube-apiserver-client-kubelet',
      // Signers before 1.27 insist on the second.
      usages: ['digital signature', 'key encipherment', 'client auth'],
      signal,
    });
    return { key, certificate };
  } finally {
    await client.close();
  }
}
