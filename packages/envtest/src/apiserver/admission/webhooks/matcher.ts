/** Which requests match rules and selectors, with the registry and the stored namespaces. */
import type { KubeObject } from '@tidegate/kube';
import { notFound } from '@tidegate/serving';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type { Webhook } from '../../resources/webhooks/types.ts';
import type { Registry, Served } from '../../served/registry.ts';
import type { Store } from '../../store/types.ts';
import { namespaceSelected, objectSelected, wantedAs } from './match.ts';
import { namespaceOf } from './review.ts';

export type MatchCriteria = Pick<Webhook, 'rules' | 'matchPolicy' | 'namespaceSelector' | 'objectSelector'>;

export class RequestMatcher {
  readonly #store: Store;
  readonly #registry: Registry;

  constructor(store: Store, registry: Registry) {
    this.#store = store;
    this.#registry = registry;
  }

  /** The resource and version in which the request matches; undefined if it does not match. */
  match(criteria: MatchCriteria, attributes: AdmissionAttributes): Served | undefined {
    const target = this.wanted(criteria, attributes);
    return target !== undefined && this.selected(criteria, attributes) ? target : undefined;
  }

  /** Compares with the rules only. */
  wanted(criteria: MatchCriteria, attributes: AdmissionAttributes): Served | undefined {
    return wantedAs(criteria, attributes, () => this.#equivalents(attributes.served));
  }

  /** Compares with the selectors only. Objects outside of namespaces match every namespace selector. */
  selected({ objectSelector, namespaceSelector }: MatchCriteria, attributes: AdmissionAttributes): boolean {
    if (!objectSelected(objectSelector, attributes)) return false;
    if (namespaceOf(attributes) === '') return true;
    return namespaceSelected(namespaceSelector, () => this.namespace(attributes)?.metadata.labels ?? {});
  }

  /** The namespace of the request; undefined if the object is not in a namespace. */
  namespace(attributes: AdmissionAttributes): KubeObject | undefined {
    const { operation, served, object } = attributes;
    // The namespace in the request is not stored yet.
    if (served.definition.storage === 'namespaces' && operation !== 'DELETE') return object;
    const name = namespaceOf(attributes);
    if (name === '') return undefined;
    const entry = this.#store.get({ resource: 'namespaces', namespace: '', name });
    if (entry === undefined) throw notFound({ group: '', resource: 'namespaces' }, name);
    return JSON.parse(entry.value.toString()) as KubeObject;
  }

  /** All other resources and versions of the same stored objects. */
  #equivalents(served: Served): Served[] {
    return this.#registry
      .all()
      .filter((definition) => definition.storage === served.definition.storage)
      .flatMap((definition) => definition.versions.map((version) => ({ definition, version })))
      .filter(({ version }) => version !== served.version);
  }
}
