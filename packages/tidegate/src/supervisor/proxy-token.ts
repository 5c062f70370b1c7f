import { writeFileAtomically } from '@tidegate/disk';
import {
  type Clock,
  type KubeClient,
  type KubeObject,
  SERVICE_ACCOUNTS,
  sleep,
  systemClock,
} from '@tidegate/kube';
import { PROXY_ACCOUNT } from './install.ts';

const LIFE_SECONDS = 24 * 3600;
/** Looked at often instead of waited for long: a machine that slept has missed its timers. */
const LOOK_MS = 60_000;

/**
 * The token of the account that forwards NodePorts, in a file, replaced at half its life. Elsewhere kubelets put it into
 * kube-proxy's pod; here there is no such pod, and so no node that might ask for it.
 */
export class ProxyToken {
  readonly #client: KubeClient;
  readonly #file: string;
  readonly #report: (line: string) => void;
  readonly #clock: Clock;
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #renewAt = 0;

  constructor(client: KubeClient, file: string, report: (line: string) => void, clock: Clock = systemClock) {
    this.#client = client;
    this.#file = file;
    this.#report = report;
    this.#clock = clock;
  }

  /** Resolves when there is one; it is kept fresh until `close`. */
  async run(): Promise<void> {
    await this.#renew();
    this.#running = this.#keep();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #keep(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await sleep(this.#clock, LOOK_MS, signal);
        if (this.#clock.now() >= this.#renewAt) await this.#renew();
      } catch (error) {
        // The one before it is good for hours, and the next look is soon.
        if (!signal.aborted) this.#report(`no new token for kube-proxy yet: ${(error as Error).message}`);
      }
    }
  }

  async #renew(): Promise<void> {
    const request: KubeObject = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: PROXY_ACCOUNT,
      spec: { expirationSeconds: LIFE_SECONDS },
    };
    const { signal } = this.#ended;
    const { status } = await this.#client.create(SERVICE_ACCOUNTS, request, { subresource: 'token', signal });
    const { token, expirationTimestamp } = status as { token: string; expirationTimestamp: string };
    writeFileAtomically(this.#file, token, 0o600);
    const now = this.#clock.now();
    this.#renewAt = now + (Date.parse(expirationTimestamp) - now) / 2;
  }
}
