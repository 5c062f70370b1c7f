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
/** Short intervals instead of one long timer, because timers stand still while a machine is suspended. */
const POLL_MS = 60_000;

/**
 * Keeps a token of the NodePort proxy's service account in a file and renews it at half of its lifetime. In other
 * clusters the kubelet mounts such a token into the kube-proxy pod. Here the proxy is part of the node agent, and a
 * node may only request tokens for pods that are bound to it, so the supervisor requests the token.
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

  /** Resolves when the first token is written; renews it until `close`. */
  async run(): Promise<void> {
    await this.#renew();
    this.#running = this.#keep();
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  /** Renews the token when it is due. A failed renewal is reported and retried at the next interval. */
  async #keep(): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      try {
        await sleep(this.#clock, POLL_MS, signal);
        if (this.#clock.now() >= this.#renewAt) await this.#renew();
      } catch (error) {
        // The previous token is valid for hours, and the next attempt is a minute away.
        if (!signal.aborted)
          this.#report(`cannot renew the kube-proxy token, will retry: ${(error as Error).message}`);
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
