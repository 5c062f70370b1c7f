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
  /** Credentials that may request the first certificate of a node, usually a bootstrap token. */
  bootstrap: ClusterConfig;
  /** The file for the certificate and its key. */
  file: string;
  /** Returns a client with these credentials. It is closed after use. */
  connect(credentials: CredentialSource): KubeClient;
  clock: Clock;
  random: Random;
  log: Logger;
}

/**
 * The credentials of a node that has none yet. The first client certificate is requested with the bootstrap
 * credentials, as in the TLS bootstrapping of the kubelet; renewals use the certificate itself. Requests that
 * need the credentials before they exist wait for them.
 */
export class ClientCredentials implements CredentialSource {
  readonly #certificate: RenewedCertificate;
  /** Resolves when there is a first certificate. */
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
      // An expired certificate does not authenticate the node, so the request uses the bootstrap credentials
      // again.
      obtain: (signal) => obtain(options, certificate.isInDate ? credentials : bootstrap.credentials, signal),
      fits: async () => true,
      clock,
      random,
      log,
    });
    const credentials = new ClientCredentials(certificate);
    return credentials;
  }

  /** Why there are no valid credentials; undefined if there are. */
  get waitingFor(): string | undefined {
    return this.#certificate.waitingFor;
  }

  async current(): Promise<Credential> {
    await this.#first;
    const { certificate: cert, key } = this.#certificate.current!;
    // The object stays the same until the certificate changes: connections are looked up by credential object.
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

/** A bootstrap token can register nodes. The hub must not send it to a server that it cannot verify. */
function checkPinned({ server, ca, insecureSkipTlsVerify }: ClusterConfig): void {
  if (server.startsWith('https:') && (ca === undefined || insecureSkipTlsVerify === true)) {
    throw new ConfigError(
      `the bootstrap kubeconfig cannot verify ${server}: set certificate-authority or certificate-authority-data of its cluster, and remove insecure-skip-tls-verify`,
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
      // Before Kubernetes 1.27, signers require key encipherment for every type of key.
      usages: ['digital signature', 'key encipherment', 'client auth'],
      signal,
    });
    return { key, certificate };
  } finally {
    await client.close();
  }
}
