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

/** Two small files: to read them is cheaper than to find out by what tricks they may be replaced. */
const READ_AGAIN_MS = 10_000;

/** A certificate that somebody else keeps in files, such as cert-manager. */
export class CertificateFiles implements CertificateSource {
  readonly #options: CertificateFilesOptions;
  readonly #subscribers = new Subscribers<KeyPair>();
  #current: KeyPair;
  /** What was wrong when the files were last read. */
  #wrong: string | undefined;

  private constructor(options: CertificateFilesOptions, first: KeyPair) {
    this.#options = options;
    this.#current = first;
  }

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
      await sleep(this.#options.clock, READ_AGAIN_MS, signal).catch(() => {}); // Aborted: the loop ends.
      if (!signal.aborted) await this.#readAgain();
    }
  }

  async #readAgain(): Promise<void> {
    const { certFile, log } = this.#options;
    try {
      const pair = await read(this.#options);
      this.#wrong = undefined;
      if (pair.certificate === this.#current.certificate && pair.key === this.#current.key) return;
      this.#current = pair;
      log.info({ certFile }, 'the serving certificate has changed');
      this.#subscribers.tell(pair);
    } catch (err) {
      // Perhaps only one of the two was written so far. What was good remains in use.
      const why = (err as Error).message;
      if (why !== this.#wrong) log.warn({ err }, 'the serving certificate on disk is not usable');
      this.#wrong = why;
    }
  }
}

async function read({ certFile, keyFile }: CertificateFilesOptions): Promise<KeyPair> {
  // One after the other, so that the error always names the first file that is missing.
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
