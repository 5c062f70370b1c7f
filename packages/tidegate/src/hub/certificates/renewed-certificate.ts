import { X509Certificate } from 'node:crypto';
import { backoffDelay, type Clock, childController, type Logger, type Random, sleep } from '@tidegate/kube';
import { type KeyPair, subjectOf } from '@tidegate/kube/certificates';
import { type CertificateSource, Subscribers } from './source.ts';
import { readPair, writePair } from './stored-pair.ts';

export interface RenewedCertificateOptions {
  /** What the certificate is, for logs and readiness messages, for example `serving certificate`. */
  what: string;
  file: string;
  /**
   * The common name of the certificate. A stored certificate with another common name is not used, for
   * example if the node was renamed.
   */
  commonName: string;
  /** Requests a new certificate. Waits until the request is approved and signed, which can take any time. */
  obtain(signal: AbortSignal): Promise<KeyPair>;
  /**
   * Whether the certificate, which has not expired, still has all properties that are needed now. If this
   * rejects, the answer is unknown, and the certificate stays in use.
   */
  fits(certificate: X509Certificate, signal: AbortSignal): Promise<boolean>;
  clock: Clock;
  random: Random;
  log: Logger;
}

/** The interval at which `fits` is checked. */
const CHECK_INTERVAL_MS = 3_600_000;
const RETRY = { baseMs: 5_000, maxMs: 300_000 };
/**
 * The minimum time between a new certificate and the next check. It limits the rate of requests if the clock
 * is wrong and each new certificate seems to be due for renewal.
 */
const MIN_CHECK_INTERVAL_MS = 60_000;

/**
 * A certificate that the cluster signs. It is kept in a file, so that a hub that restarts offline has it. It
 * is renewed at a random point between 70 and 90 % of its lifetime, as the kubelet does, so that the nodes of
 * a cluster do not all send their requests at the same time.
 *
 * The private key never leaves the node, and each renewal uses a new key. If a renewal fails, the current
 * certificate stays in use, also after it has expired.
 */
export class RenewedCertificate implements CertificateSource {
  readonly #options: RenewedCertificateOptions;
  readonly #subscribers = new Subscribers<KeyPair>();
  #current: KeyPair | undefined;
  /** A certificate that is used, and not on disk yet. */
  #unstored: KeyPair | undefined;
  /** When to renew the certificate, in epoch milliseconds. */
  #renewAt = 0;
  /** When the certificate expires, in epoch milliseconds; 0 without a certificate. */
  #expiresAt = 0;
  /** Why there is no valid certificate. */
  #obstacle: string;
  /** Consecutive failed requests, for the backoff. */
  #failures = 0;
  #wake: () => void = () => {};

  private constructor(options: RenewedCertificateOptions) {
    this.#options = options;
    this.#obstacle = `the hub has no ${options.what} yet`;
  }

  /**
   * Loads the stored certificate, if there is one for this common name that has not expired. Does not send a
   * request; `run` does.
   */
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

  /** Whether the certificate has not expired yet. */
  get isInDate(): boolean {
    return this.#expiresAt > this.#options.clock.now();
  }

  get waitingFor(): string | undefined {
    return this.isInDate ? undefined : this.#obstacle;
  }

  onChange(listener: (pair: KeyPair) => void): () => void {
    return this.#subscribers.add(listener);
  }

  /**
   * Ends the wait of `run`, which then checks immediately whether a new certificate is needed. Call it when
   * the reason of an earlier failure may be gone, for example when the link is restored.
   */
  checkNow(): void {
    this.#wake();
  }

  /** Renews the certificate until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const wait = (await this.#needsRenewal(signal)) ? await this.#renew(signal) : this.#store();
      await this.#sleep(wait, signal);
    }
  }

  /** True if there is no certificate, if it is due for renewal, or if it no longer fits. */
  async #needsRenewal(signal: AbortSignal): Promise<boolean> {
    const { clock, fits, log, what } = this.#options;
    if (this.#current === undefined || clock.now() >= this.#renewAt) return true;
    try {
      return !(await fits(new X509Certificate(this.#current.certificate), signal));
    } catch (err) {
      if (!signal.aborted) log.debug({ err }, `cannot check now whether the ${what} must change`);
      return false;
    }
  }

  /** Requests a certificate. Returns how long to wait until the next check, in milliseconds. */
  async #renew(signal: AbortSignal): Promise<number> {
    const { obtain, log, what, random } = this.#options;
    this.#obstacle = `the ${what} is requested but not approved yet; run "kubectl get certificatesigningrequests" to see the request`;
    try {
      const pair = await obtain(signal);
      this.#use(pair);
      this.#unstored = pair;
      this.#failures = 0;
      log.info({ expires: new Date(this.#expiresAt).toISOString() }, `obtained a new ${what}`);
      this.#subscribers.notify(pair);
      return this.#store();
    } catch (err) {
      if (signal.aborted) return 0;
      this.#obstacle = `cannot obtain the ${what}: ${(err as Error).message}`;
      log.warn({ err }, `cannot obtain a new ${what}; retrying`);
      return backoffDelay(this.#failures++, RETRY, random);
    }
  }

  /**
   * Writes the certificate to disk, if it is not there yet. It is used in any case: a full disk must not end the service,
   * or cause a new request each time. Returns how long to wait until the next check, in milliseconds.
   */
  #store(): number {
    const { file, log, what, random } = this.#options;
    if (this.#unstored === undefined) return this.#untilNextCheck();
    try {
      writePair(file, this.#unstored);
      this.#unstored = undefined;
      this.#failures = 0;
      return this.#untilNextCheck();
    } catch (err) {
      log.warn({ err }, `cannot store the ${what}; retrying`);
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

  #untilNextCheck(): number {
    return Math.min(
      CHECK_INTERVAL_MS,
      Math.max(MIN_CHECK_INTERVAL_MS, this.#renewAt - this.#options.clock.now()),
    );
  }

  async #sleep(ms: number, signal: AbortSignal): Promise<void> {
    const { controller, release } = childController(signal);
    this.#wake = () => controller.abort();
    await sleep(this.#options.clock, ms, controller.signal).catch(() => {}); // Woken by checkNow, or aborted.
    this.#wake = () => {};
    release();
  }
}
