/** All webhooks of one kind of configuration, in call order. Follows the store. */

import type { Webhook, WebhookConfiguration } from '../../resources/webhooks/types.ts';
import type { Change, Store } from '../../store/types.ts';

export class WebhookConfigurations {
  readonly #resource: string;
  readonly #byName = new Map<string, Webhook[]>();
  #ordered: Webhook[] | undefined;
  readonly #stop: () => void;

  constructor(store: Store, kind: 'mutating' | 'validating') {
    this.#resource = `admissionregistration.k8s.io/${kind}webhookconfigurations`;
    for (const { name, value } of store.list(this.#resource).entries)
      this.#byName.set(name, webhooksIn(value));
    this.#stop = store.watchAll((changes) => {
      for (const change of changes) if (change.resource === this.#resource) this.#follow(change);
    });
  }

  /**
   * Sorted by name of the configuration, then in the order of the configuration. The objects are stable until it
   * changes.
   */
  all(): readonly Webhook[] {
    this.#ordered ??= [...this.#byName]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .flatMap(([, webhooks]) => webhooks);
    return this.#ordered;
  }

  close(): void {
    this.#stop();
  }

  #follow({ type, entry }: Change): void {
    if (type === 'put') this.#byName.set(entry.name, webhooksIn(entry.value));
    else this.#byName.delete(entry.name);
    this.#ordered = undefined;
  }
}

const webhooksIn = (value: Buffer): Webhook[] =>
  (JSON.parse(value.toString()) as WebhookConfiguration).webhooks ?? [];
