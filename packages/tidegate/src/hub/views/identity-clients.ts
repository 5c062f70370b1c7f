import type { Credential, CredentialSource, KubeClient } from '@tidegate/kube';

/**
 * The credentials that an identity sent last. Tokens expire, and pods send a new one before that; the newest is the most
 * likely to be valid.
 */
class NewestCredentials implements CredentialSource {
  source: CredentialSource;

  constructor(source: CredentialSource) {
    this.source = source;
  }

  current(): Promise<Credential> {
    return this.source.current();
  }

  async refresh(used: Credential): Promise<Credential> {
    // The API server rejected `used`. If the identity has sent newer credentials meanwhile, try those first.
    const newest = await this.source.current();
    return newest === used ? this.source.refresh(used) : newest;
  }
}

interface OpenClient {
  readonly client: KubeClient;
  readonly credentials: NewestCredentials;
  /** How many views use the client. */
  users: number;
}

/** A client, until `release` is called. */
export interface AcquiredClient {
  readonly client: KubeClient;
  release(): Promise<void>;
}

/** One client for each identity, open while at least one view of the identity is followed. */
export class IdentityClients {
  readonly #open: (credentials: CredentialSource) => KubeClient;
  readonly #clients = new Map<string, OpenClient>();

  constructor(open: (credentials: CredentialSource) => KubeClient) {
    this.#open = open;
  }

  /** Uses these credentials from now on, also for watches that are open and reconnect later. */
  update(identity: string, credentials: CredentialSource): void {
    const open = this.#clients.get(identity);
    if (open !== undefined) open.credentials.source = credentials;
  }

  /** Opens the client of the identity, or shares it. The last release closes it. */
  acquire(identity: string, source: CredentialSource): AcquiredClient {
    const open = this.#clients.get(identity) ?? this.#add(identity, source);
    open.users++;
    const release = async (): Promise<void> => {
      open.users--;
      if (open.users > 0) return;
      this.#clients.delete(identity);
      await open.client.close();
    };
    return { client: open.client, release };
  }

  #add(identity: string, source: CredentialSource): OpenClient {
    const credentials = new NewestCredentials(source);
    const open = { client: this.#open(credentials), credentials, users: 0 };
    this.#clients.set(identity, open);
    return open;
  }
}
