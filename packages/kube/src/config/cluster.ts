/** How to reach one API server, and as whom. Made by the loaders next to this file, or by hand. */
export interface ClusterConfig {
  /** `https://host:port`, perhaps with a path in front of `/api`. */
  server: string;
  /** The namespace of the context, for whoever wants a default. */
  namespace: string;
  /** PEM; the system's roots when absent. */
  ca?: string;
  /** The name to expect in the server's certificate, if not that of the host. */
  tlsServerName?: string;
  insecureSkipTlsVerify?: boolean;
  proxyUrl?: string;
  disableCompression?: boolean;
  impersonate?: Impersonation;
  credentials: CredentialSource;
}

export interface Impersonation {
  user: string;
  uid?: string;
  groups?: string[];
  extra?: Record<string, string[]>;
}

export interface Credential {
  /** The whole header: `Bearer ...` or `Basic ...`. */
  readonly authorization?: string;
  /** PEM of the client certificate and its key. */
  readonly cert?: string;
  readonly key?: string;
}

/** Where credentials come from. The same object is returned for as long as nothing changed. */
export interface CredentialSource {
  current(): Promise<Credential>;
  /** The server did not accept `used`: returns another credential if there is one, else `used` again. */
  refresh(used: Credential): Promise<Credential>;
}

export function fixedCredential(credential: Credential): CredentialSource {
  return { current: async () => credential, refresh: async () => credential };
}

/** Something in the configuration is wrong. The message names the file, the entry and the field. */
export class ConfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConfigError';
  }
}
