import { X509Certificate } from 'node:crypto';
import { backoffDelay, type Clock, childController, type Logger, type Random, sleep } from '@tidegate/kube';
import { type KeyPair, subjectOf } from '@tidegate/kube/certificates';
import { type CertificateSource, Subscribers } from './source.ts';
import { readPair, writePair } from './stored-pair.ts';

export interface RenewedCertificateOptions {
  /** `serving certificate`: for whoever reads logs and asks whether we are ready. */
  what: string;
  file: string;
  /** Whom it is for: one that is kept for somebody else is not used. */
  commonName: string;
  /** Has a new one signed. Takes as long as it takes somebody to approve it. */
  obtain(signal: AbortSignal): Promise<KeyPair>;
  /** Whether one that is in date is also what is wanted now. When it rejects, nobody knows, and nothing changes. */
  fits(certificate: X509Certificate, signal: AbortSignal): Promise<boolean>;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** How often to look whether it is still what is wanted. */
const LOOK_MS = 3_600_000;
const RETRY = { baseMs: 5_000, maxMs: 300_000 };
/** However wrong the clock is, the cluster is not asked all the time. */
const LEAST_LIFE_MS = 60_000;

/**
 * A certificate that the cluster signs: kept in a file, so that a restart without a link has it, and renewed at a random
 * moment between 70 and 90 % of its life, so that not all nodes ask at once.
 */
export class RenewedCertificate implements CertificateSource {
  readonly #options: RenewedCertificateOptions;
  readonly #subscribers = new Subscribers<KeyPair>();
  #current: KeyPair | undefined;
  #renewAt = 0;
  #expiresAt = 0;
  #obstacle: string;
  #failures = 0;
  #wake: () => void = () => {};

  private constructor(options: RenewedCertificateOptions) {
    this.#options = options;
    this.#obstacle = `there is no ${options.what} yet`;
  }

  static async open(options: RenewedCertificateOptions): Promise<RenewedCertificate> {
    const renewed = new RenewedCertificate(options);
    const stored = await readPair(options.file);
    if (stored === undefined) return renewed;
    const { commonName } = subjectOf(new X509Certificate(stored.certificate));
    if (commonName !== options.commonName) return renewed;
    renewed.#use(stored);
    if (!renewed.isInDate) renewed.#current = undefined;
    return renewed;
  }

  get current(): KeyPair | undefined {
    return this.#current;
  }

  get isInDate(): boolean {
    return this.#expiresAt > this.#options.clock.now();
  }

  get waitingFor(): string | undefined {
    return this.isInDate ? undefined : this.#obstacle;
  }

  onChange(listener: (pair: KeyPair) => void): () => void {
    return this.#subscribers.add(listener);
  }

  /** Looks at once whether another one is wanted, instead of in an hour, or whether it can be had, instead of in a while. */
  look(): void {
    this.#wake();
  }

  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = (await this.#isWanted(signal)) ? await this.#renew(signal) : this.#untilNextLook();
      await this.#sleep(wait, signal);
    }
  }

  async #isWanted(signal: AbortSignal): Promise<boolean> {
    const { clock, fits, log, what } = this.#options;
    if (this.#current === undefined || clock.now() >= this.#renewAt) return true;
    try {
      return !(await fits(new X509Certificate(this.#current.certificate), signal));
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, `whether the ${what} must change can not be found out now`);
      return false;
    }
  }

  /** How long to wait then. */
  async #renew(signal: AbortSignal): Promise<number> {
    const { obtain, file, log, what, random } = this.#options;
    this.#obstacle = `the ${what} was asked for and is not approved yet: see kubectl get certificatesigningrequests`;
    try {
      const pair = await obtain(signal);
      writePair(file, pair);
      this.#use(pair);
      this.#failures = 0;
      log.info({ expires: new Date(this.#expiresAt).toISOString() }, `there is a new ${what}`);
      this.#subscribers.tell(pair);
      return this.#untilNextLook();
    } catch (err) {
      if (signal.aborted) return 0;
      this.#obstacle = `the ${what} could not be had: ${(err as Error).message}`;
      log.warn({ err }, `no new ${what}; trying again`);
      return backoffDelay(this.#failures++, RETRY, random);
    }
  }

  #use(pair: KeyPair): void {
    const { validFrom, validTo } = new X509Certificate(pair.certificate);
    const from = Date.parse(validFrom);
    this.#expiresAt = Date.parse(validTo);
    this.#renewAt = from + (this.#expiresAt - from) * (0.7 + 0.2 * this.#options.random());
    this.#current = pair;
  }

  #untilNextLook(): number {
    return Math.min(LOOK_MS, Math.max(LEAST_LIFE_MS, this.#renewAt - this.#options.clock.now()));
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { controller, release } = childController(signal);
    this.#wake = () => controller.abort();
    await sleep(this.#options.clock, ms, controller.signal).catch(() => {}); // Woken, or aborted: the loop decides.
    this.#wake = () => {};
    release();
  }
}
