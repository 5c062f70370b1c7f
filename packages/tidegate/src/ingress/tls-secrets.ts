import {
  type Clock,
  type Handler,
  INGRESS_CLASSES,
  INGRESSES,
  type Informer,
  type Informers,
  type Ingress,
  type KubeClient,
  keyOf,
  SECRETS,
  type Secret,
  splitKey,
} from '@tidegate/kube';
import { isAccessRefused } from './access-refused.ts';
import { classNameOf } from './compile/index.ts';
import type { ProvisionerRegistry } from './provisioners/index.ts';

/** Other Secrets cannot hold a serving certificate, so the manager does not read them. */
const TLS_SECRETS = { fieldSelector: 'type=kubernetes.io/tls' };

/** Changes of Ingresses in a namespace that refused access do not cause more requests than this. */
const RETRY_MS = 30_000;

/**
 * The certificates of Ingresses that Tidegate serves. The manager reads Secrets only in the namespaces of these Ingresses,
 * with one informer per namespace: each namespace decides whether it grants that. While a namespace has not granted it, its
 * certificates are unknown. The next change of an Ingress there, or `retry`, tries again.
 */
export class TlsSecrets {
  readonly #client: KubeClient;
  readonly #informers: Informers;
  readonly #clock: Clock;
  readonly #provisioners: ProvisionerRegistry;
  readonly #classes;
  readonly #ingresses;
  readonly #namespaces = new Map<string, Informer<Secret>>();
  /** Namespaces that refused access, with the time. */
  readonly #refused = new Map<string, number>();
  readonly #starting = new Set<string>();
  /** What `synced` waits for. */
  readonly #answers: Promise<unknown>[] = [];
  #isFollowing = false;
  readonly #handlers: Handler<Secret>[] = [];
  /** Resolves when the Secrets of every namespace that grants access are known. */
  readonly synced: Promise<void>;

  constructor({
    client,
    informers,
    clock,
    provisioners,
  }: {
    client: KubeClient;
    informers: Informers;
    clock: Clock;
    provisioners: ProvisionerRegistry;
  }) {
    this.#provisioners = provisioners;
    this.#client = client;
    this.#clock = clock;
    this.#informers = informers;
    this.#classes = informers.for(INGRESS_CLASSES);
    this.#ingresses = informers.for(INGRESSES);
    this.synced = this.#follow();
  }

  /** `key` is `namespace/name`. */
  get(key: string): Secret | undefined {
    return this.#namespaces.get(splitKey(key).namespace ?? '')?.cache.get(key);
  }

  /** Whether all certificates of the namespace are known. Not before it has an Ingress that names one. */
  knows(namespace: string): boolean {
    return this.#namespaces.get(namespace)?.hasSynced ?? false;
  }

  list(): Secret[] {
    return [...this.#namespaces.values()].flatMap(({ cache }) => [...cache.list()]);
  }

  addHandler(handler: Handler<Secret>): void {
    this.#handlers.push(handler);
    for (const informer of this.#namespaces.values()) informer.addHandler(handler);
  }

  async #follow(): Promise<void> {
    await Promise.all([this.#classes.synced, this.#ingresses.synced, this.#provisioners.synced]);
    const look = (ingress: Ingress): void => this.#look(ingress);
    this.#ingresses.addHandler({ onAdd: look, onUpdate: (_, ingress) => look(ingress) });
    // An Ingress can be older than its class.
    const lookAtAll = (): void => this.#ingresses.cache.list().forEach(look);
    this.#classes.addHandler({ onAdd: lookAtAll });
    this.#provisioners.onChange(lookAtAll);
    this.#isFollowing = true;
    await Promise.all(this.#answers.splice(0));
  }

  #look(ingress: Ingress): void {
    const { namespace } = splitKey(keyOf(ingress));
    if (namespace === undefined || this.#namespaces.has(namespace) || this.#starting.has(namespace)) return;
    if (this.#clock.monotonic() - (this.#refused.get(namespace) ?? Number.NEGATIVE_INFINITY) < RETRY_MS)
      return;
    if (!(ingress.spec?.tls ?? []).some(({ secretName }) => secretName)) return;
    const controller = this.#classes.cache.get(classNameOf(ingress) ?? '')?.spec?.controller ?? '';
    if (this.#provisioners.forController(controller) === undefined) return;
    const started = this.#start(namespace);
    if (!this.#isFollowing) this.#answers.push(started);
  }

  /** Tries again, for example because the namespace has granted access. */
  retry(namespace: string): void {
    if (this.#refused.has(namespace)) void this.#start(namespace);
  }

  async #start(namespace: string): Promise<void> {
    this.#refused.delete(namespace);
    this.#starting.add(namespace);
    const select = { ...TLS_SECRETS, namespace };
    const context = { client: this.#client, informers: this.#informers, clock: this.#clock };
    const isRefused = await isAccessRefused(context, SECRETS, select);
    this.#starting.delete(namespace);
    if (isRefused) {
      this.#refused.set(namespace, this.#clock.monotonic());
      return;
    }
    const informer = this.#informers.for(SECRETS, select);
    this.#namespaces.set(namespace, informer);
    for (const handler of this.#handlers) informer.addHandler(handler);
    await informer.synced;
  }
}
