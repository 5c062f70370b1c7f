import type { Credential, CredentialSource, KubeClient } from '@tidegate/kube';

/** The credentials that an identity showed last: the ones most likely to be valid still. */
class NewestCredentials implements CredentialSource {
  source: CredentialSource;

  constructor(source: CredentialSource) {
    this.source = source;
  }

  current(): Promise<Credential> {
    return this.source.current();
  }

  async refresh(used: Credential): Promise<Credential> {
    const newest = await this.source.current();
    return newest === used ? this.source.refresh(used) : newest;
  }
}

interface Lent {
  readonly client: KubeClient;
  readonly credentials: NewestCredentials;
  users: number;
}

/** One client for each identity, for as long as one of its views is followed. */
export class IdentityClients {
  readonly #open: (credentials: CredentialSource) => KubeClient;
  readonly #lent = new Map<string, Lent>();

  constructor(open: (credentials: CredentialSource) => KubeClient) {
    this.#open = open;
  }

  /** The identity has shown these. */
  seen(identity: string, credentials: CredentialSource): void {
    const lent = this.#lent.get(identity);
    if (lent !== undefined) lent.credentials.source = credentials;
  }

  /** Give it back when done; the last one who does closes it. */
  borrow(identity: string, source: CredentialSource): { client: KubeClient; giveBack(): Promise<void> } {
    const lent = this.#lent.get(identity) ?? this.#make(identity, source);
    lent.users++;
    const giveBack = async (): Promise<void> => {
      lent.users--;
      if (lent.users > 0) return;
      this.#lent.delete(identity);
      await lent.client.close();
    };
    return { client: lent.client, giveBack };
  }

  #make(identity: string, source: CredentialSource): Lent {
    const credentials = new NewestCredentials(source);
    const lent = { client: this.#open(credentials), credentials, users: 0 };
    this.#lent.set(identity, lent);
    return lent;
  }
}
