import type { Clock, Informer, Informers, KubeClient, KubeObject, Resource } from '@tidegate/kube';
import { SECRETS } from '@tidegate/kube';
import { isAccessRefused } from '../access-refused.ts';

/** Without their data: the manager does not need passwords or keys to know that a Secret has changed. */
const SECRET_METADATA: Resource = { ...SECRETS, objectType: undefined, metadataOnly: true };

const RETRY_MS = 30_000;

type State = { informer: Informer } | { refusedAt: number } | 'asking';

/**
 * The metadata of the Secrets in the namespaces that routers read Secrets of, with one informer per namespace: each
 * namespace decides whether it grants that.
 */
export class SecretMetadata {
  readonly #context: { client: KubeClient; informers: Informers; clock: Clock };
  readonly #onChange: (namespace: string, secret?: KubeObject) => void;
  readonly #namespaces = new Map<string, State>();

  /** `onChange` is called with each changed Secret, and without one when all of the namespace may have changed. */
  constructor(
    context: { client: KubeClient; informers: Informers; clock: Clock },
    onChange: (namespace: string, secret?: KubeObject) => void,
  ) {
    this.#context = context;
    this.#onChange = onChange;
  }

  /** Starts to follow the namespace. Returns whether the answer of `versionOf` is final: known, or refused. */
  follow(namespace: string): boolean {
    const state = this.#namespaces.get(namespace);
    if (state === 'asking') return false;
    if (state !== undefined && 'informer' in state) return state.informer.hasSynced;
    if (state !== undefined && this.#context.clock.monotonic() - state.refusedAt < RETRY_MS) return true;
    this.#namespaces.set(namespace, 'asking');
    void this.#start(namespace);
    return false;
  }

  /** The resourceVersion of the Secret. Undefined if it does not exist, or if the namespace refuses access. */
  versionOf(namespace: string, name: string): string | undefined {
    const state = this.#namespaces.get(namespace);
    if (state === undefined || state === 'asking' || !('informer' in state)) return undefined;
    return state.informer.cache.get(`${namespace}/${name}`)?.metadata.resourceVersion;
  }

  isRefused(namespace: string): boolean {
    const state = this.#namespaces.get(namespace);
    return typeof state === 'object' && 'refusedAt' in state;
  }

  /** No router reads Secrets of the namespace any more. */
  unfollow(namespace: string): void {
    const state = this.#namespaces.get(namespace);
    this.#namespaces.delete(namespace);
    if (state !== undefined && state !== 'asking' && 'informer' in state)
      this.#context.informers.end(state.informer);
  }

  async #start(namespace: string): Promise<void> {
    const { informers, clock } = this.#context;
    const isRefused = await isAccessRefused(this.#context, SECRET_METADATA, { namespace });
    // It may have been unfollowed meanwhile.
    if (this.#namespaces.get(namespace) !== 'asking') return;
    if (isRefused) this.#namespaces.set(namespace, { refusedAt: clock.monotonic() });
    else {
      const informer = informers.for(SECRET_METADATA, { namespace });
      this.#namespaces.set(namespace, { informer });
      const changed = (secret: KubeObject): void => {
        if (informer.hasSynced) this.#onChange(namespace, secret);
      };
      informer.addHandler({
        onAdd: changed,
        onUpdate: (_, secret) => changed(secret),
        onDelete: changed,
      });
      await informer.synced;
    }
    this.#onChange(namespace);
  }
}
