import { type Clock, type KubeClient, type KubeObject, type Pod, SERVICE_ACCOUNTS } from '@tidegate/kube';

const DEFAULT_EXPIRATION_SECONDS = 3600;
/** A token is renewed when this fraction of its lifetime has passed. */
const RENEWAL_FRACTION = 0.8;
/** If the API server issues no new token, the old one is still valid for a while. */
const RETRY_MS = 10_000;

interface Token {
  token: string;
  renewAt: number;
  expiresAt: number;
}

/** A service account token as a file. The defaults are those of the API server. */
export interface TokenProjection {
  audience?: string;
  expirationSeconds?: number;
}

/** The service account tokens of one pod. */
export class PodTokens {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  readonly #tokens = new Map<string, Token>();

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** When the first token has to be renewed, in the clock's time. */
  get renewAt(): number {
    return Math.min(...[...this.#tokens.values()].map((token) => token.renewAt));
  }

  async get(pod: Pod, projection: TokenProjection): Promise<string> {
    const key = JSON.stringify([projection.audience, projection.expirationSeconds]);
    const held = this.#tokens.get(key);
    const now = this.#clock.now();
    if (held !== undefined && now < held.renewAt) return held.token;
    try {
      const fresh = await this.#request(pod, projection, now);
      this.#tokens.set(key, fresh);
      return fresh.token;
    } catch (error) {
      if (held === undefined || now >= held.expiresAt) throw error;
      held.renewAt = now + RETRY_MS;
      return held.token;
    }
  }

  async #request(pod: Pod, projection: TokenProjection, now: number): Promise<Token> {
    const { audience, expirationSeconds = DEFAULT_EXPIRATION_SECONDS } = projection;
    const { name, namespace, uid } = pod.metadata;
    const request: KubeObject = {
      apiVersion: 'authentication.k8s.io/v1',
      kind: 'TokenRequest',
      metadata: { name: pod.spec?.serviceAccountName ?? 'default', namespace },
      spec: {
        ...(audience === undefined || audience === '' ? {} : { audiences: [audience] }),
        expirationSeconds,
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name, uid },
      },
    };
    const { status } = await this.#client.create(SERVICE_ACCOUNTS, request, { subresource: 'token' });
    const { token, expirationTimestamp } = status as { token: string; expirationTimestamp: string };
    const expiresAt = Date.parse(expirationTimestamp);
    return { token, expiresAt, renewAt: now + (expiresAt - now) * RENEWAL_FRACTION };
  }
}
