import type { Pod } from '@tidegate/kube';
import { objectOf, type View, type ViewChange } from '../views/index.ts';

type Selector = readonly (readonly [string, string])[];

/**
 * Which pods Services select, by namespace. The endpoints of a Service, with uids and addresses of pods, are visible to every
 * node, so reports about these pods may be sent to other nodes.
 */
export class Selections {
  readonly #byNamespace = new Map<string, Map<string, Selector>>();
  readonly #unsubscribe: () => void;

  /** `onChange` is called when Services select other pods than before. */
  constructor(services: View, onChange: () => void) {
    for (const item of services.items()) this.#set({ type: 'put', item, previous: undefined });
    this.#unsubscribe = services.subscribe((changes) => {
      const differs = changes.map((change) => this.#set(change)).includes(true);
      if (differs) onChange();
    });
  }

  selects({ metadata }: Pod): boolean {
    const { namespace = '', labels = {} } = metadata;
    for (const selector of this.#byNamespace.get(namespace)?.values() ?? [])
      if (selector.every(([key, value]) => labels[key] === value)) return true;
    return false;
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Returns whether the selector has changed. */
  #set({ type, item }: ViewChange): boolean {
    const { metadata, spec } = objectOf(item) as { metadata: Pod['metadata']; spec?: { selector?: object } };
    const { namespace = '' } = metadata;
    const ofNamespace = this.#byNamespace.get(namespace) ?? new Map<string, Selector>();
    const before = ofNamespace.get(item.key);
    const selector = type === 'delete' ? [] : (Object.entries(spec?.selector ?? {}) as [string, string][]);
    if (selector.length === 0) ofNamespace.delete(item.key);
    else this.#byNamespace.set(namespace, ofNamespace.set(item.key, selector));
    if (ofNamespace.size === 0) this.#byNamespace.delete(namespace);
    return `${before ?? ''}` !== `${selector}`;
  }
}
