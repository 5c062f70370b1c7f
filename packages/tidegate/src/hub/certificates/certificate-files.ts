import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { type Clock, ConfigError, type Logger, sleep } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { type CertificateSource, Subscribers } from './source.ts';
import { mismatch } from './stored-pair.ts';

export interface CertificateFilesOptions {
  certFile: string;
  keyFile: string;
  clock: Clock;
  log: Logger;
}

/**
 * The files are polled: they are small, and file watches miss some ways in which files are replaced, for
 * example the symlinks of a mounted Secret.
 */
const POLL_INTERVAL_MS = 10_000;

/** A certificate in files that another program maintains, for example cert-manager. */
export class CertificateFiles implements CertificateSource {
  readonly #options: CertificateFilesOptions;
  readonly #subscribers = new Subscribers<KeyPair>();
  #current: KeyPair;
  /** The last read error, so that each error is logged once; undefined if the last read succeeded. */
  #lastError: string | undefined;

  private constructor(options: CertificateFilesOptions, first: KeyPair) {
    this.#options = options;
    this.#current = first;
  }

  /** Rejects if the files cannot be read or do not match. */
  static async open(options: CertificateFilesOptions): Promise<CertificateFiles> {
    return new CertificateFiles(options, await read(options));
  }

  get current(): KeyPair {
    return this.#current;
  }

  get waitingFor(): string | undefined {
    const { validTo } = new X509Certificate(this.#current.certificate);
    if (Date.parse(validTo) > this.#options.clock.now()) return undefined;
    return `the certificate in --tls-cert-file ${this.#options.certFile} has expired (${validTo})`;
  }

  onChange(listener: (pair: KeyPair) => void): () => void {
    return this.#subscribers.add(listener);
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await sleep(this.#options.clock, POLL_INTERVAL_MS, signal).catch(() => {}); // Rejects when aborted.
      if (!signal.aborted) await this.#readAgain();
    }
  }

  async #readAgain(): Promise<void> {
    const { certFile, log } = this.#options;
    try {
      const pair = await read(this.#options);
      this.#lastError = undefined;
      if (pair.certificate === this.#current.certificate && pair.key === this.#current.key) return;
      this.#current = pair;
      log.info({ certFile }, 'loaded a new serving certificate');
      this.#subscribers.notify(pair);
    } catch (err) {
      // Possibly only one of the two files is written so far. The previous certificate stays in use.
      const why = (err as Error).message;
      if (why !== this.#lastError)
        log.warn({ err }, 'cannot use the serving certificate on disk; keeping the previous one');
      this.#lastError = why;
    }
  }
}

async function read({ certFile, keyFile }: CertificateFilesOptions): Promise<KeyPair> {
  // Sequential, so that the error always names the first file that is missing.
  const certificate = await readFlag('--tls-cert-file', certFile);
  const key = await readFlag('--tls-private-key-file', keyFile);
  const wrong = mismatch({ certificate, key });
  if (wrong !== undefined)
    throw new ConfigError(`--tls-cert-file ${certFile} and --tls-private-key-file ${keyFile}: ${wrong}`);
  return { certificate, key };
}

async function readFlag(flag: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new ConfigError(`${flag}: ${(error as Error).message}`, { cause: error });
  }
}
