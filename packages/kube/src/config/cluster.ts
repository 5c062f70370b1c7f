/** How to reach one API server, and with which identity. Usually created by loadConfig. */
export interface ClusterConfig {
  /** `https://host:port`, optionally followed by a path prefix that comes before `/api`. */
  server: string;
  /** The namespace of the context, for callers that need a default. */
  namespace: string;
  /** PEM. Default: the root certificates of the system. */
  ca?: string;
  /** The name to expect in the server's certificate, if it is not the host name. */
  tlsServerName?: string;
  /** Accept any certificate. For tests only: an attacker on the network can then read the credential. */
  insecureSkipTlsVerify?: boolean;
  /** An HTTP proxy for all connections to the server. */
  proxyUrl?: string;
  /** Do not ask for compressed answers. Useful on fast networks, where compression costs more time than it saves. */
  disableCompression?: boolean;
  /** Act as this user. The own user needs the permission to impersonate it. */
  impersonate?: Impersonation;
  credentials: CredentialSource;
}

/** A user to act as, with its groups and extra fields. */
export interface Impersonation {
  user: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

/** Proof of identity: a header, a client certificate, or both. */
export interface Credential {
  /** The complete header: `Bearer ...` or `Basic ...`. */
  readonly authorization?: string;
  /** The client certificate and its key, as PEM. */
  readonly cert?: string;
  readonly key?: string;
}

/** A source of credentials. It returns the same object for as long as the credential does not change. */
export interface CredentialSource {
  current(): Promise<Credential>;
  /** Called when the server has rejected `used`. Returns another credential if there is one, otherwise `used` again. */
  refresh(used: Credential): Promise<Credential>;
}

/** A credential that never changes, for example a token for a test. */
export function fixedCredential(credential: Credential): CredentialSource {
  return { current: async () => credential, refresh: async () => credential };
}

/** The configuration is invalid. The message names the file, the entry and the field. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConfigError';
  }
}
