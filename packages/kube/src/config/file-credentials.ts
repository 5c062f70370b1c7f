import { readFile } from 'node:fs/promises';
import { type Clock, systemClock } from '../base/clock.ts';
import { ConfigError, type Credential, type CredentialSource } from './cluster.ts';

export interface CredentialFiles {
  tokenFile?: string;
  certFile?: string;
  keyFile?: string;
}

/**
 * Bound tokens and kubelet certificates are replaced on disk while the program runs. This is the maximum age of our
 * copy.
 */
const REREAD_AFTER_MS = 60_000;

/** Credentials in files that another program keeps up to date. `fixed` holds the parts that are not in files. */
export class FileCredentials implements CredentialSource {
  readonly #files: CredentialFiles;
  readonly #fixed: Credential;
  readonly #clock: Clock;
  #credential: Credential | undefined;
  #readAt = 0;

  constructor(files: CredentialFiles, fixed: Credential = {}, clock: Clock = systemClock) {
    this.#files = files;
    this.#fixed = fixed;
    this.#clock = clock;
  }

  async current(): Promise<Credential> {
    const fresh = this.#clock.monotonic() - this.#readAt < REREAD_AFTER_MS;
    if (this.#credential !== undefined && fresh) return this.#credential;
    return this.#read();
  }

  async refresh(used: Credential): Promise<Credential> {
    return this.#credential === used ? this.#read() : this.current();
  }

  async #read(): Promise<Credential> {
    const { tokenFile, certFile, keyFile } = this.#files;
    const [token, cert, key] = await Promise.all([tokenFile, certFile, keyFile].map(readIfNamed));
    const credential: Credential = {
      ...this.#fixed,
      ...(token === undefined ? {} : { authorization: `Bearer ${token.trim()}` }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    };
    this.#readAt = this.#clock.monotonic();
    if (this.#credential === undefined || !same(this.#credential, credential)) this.#credential = credential;
    return this.#credential;
  }
}

const same = (a: Credential, b: Credential): boolean =>
  a.authorization === b.authorization && a.cert === b.cert && a.key === b.key;

async function readIfNamed(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    throw new ConfigError(`credentials cannot be read from ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
