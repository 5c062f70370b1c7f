import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '@tidegate/kube';
import type { Verb } from '@tidegate/serving';
import { chainId, FilterChain } from './chain.ts';
import type { Chain, Filter, FilterContext, FilteredResource } from './filter.ts';

/** Components that are added to the defaults of a filter, or removed from them. */
export interface ComponentChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** By the name of the filter. */
export type FilterSettings = ReadonlyMap<string, ComponentChanges>;

/** Called when chains may have changed. `cause` is the resourceVersion of the configuration, if it is known. */
export type ConfigurationListener = (cause?: string) => void;

export interface FiltersOptions {
  /** In the order in which they are applied. */
  filters: readonly Filter[];
  context: FilterContext;
  /** The names of filters that are switched off on this hub, or `*` for all. */
  disabled: readonly string[];
}

const READ_VERBS: readonly Verb[] = ['get', 'list', 'watch'];

/** Decides which filters apply to a component and a resource. Configuration changes take effect immediately. */
export class Filters {
  readonly all: readonly Filter[];
  readonly #context: FilterContext;
  readonly #enabled: readonly Filter[];
  readonly #chains = new Map<string, Chain>();
  readonly #listeners = new Set<ConfigurationListener>();
  #components: ReadonlyMap<Filter, ReadonlySet<string>>;

  constructor({ filters, context, disabled }: FiltersOptions) {
    const names = filters.map(({ name }) => name);
    for (const name of disabled) {
      if (name === '*' || names.includes(name)) continue;
      throw new ConfigError(
        `cannot disable the unknown filter ${JSON.stringify(name)}; valid names: ${names.join(', ')}, or * for all`,
      );
    }
    this.all = filters;
    this.#context = context;
    this.#enabled = disabled.includes('*') ? [] : filters.filter(({ name }) => !disabled.includes(name));
    this.#components = componentsOf(filters, new Map());
  }

  /** The chain for a request. Returns the same object for the same set of filters, so that projections can be shared. */
  chainFor(component: string, { group, resource }: FilteredResource, verb: Verb): Chain {
    const filters = this.#enabled.filter(
      (filter) =>
        this.#components.get(filter)?.has(component) &&
        verbsOf(filter).includes(verb) &&
        filter.resources.some((each) => each.resource === resource && each.group === group),
    );
    const id = chainId(filters);
    const known = this.#chains.get(id);
    if (known !== undefined) return known;
    const chain = new FilterChain(filters, this.#context);
    this.#chains.set(id, chain);
    return chain;
  }

  /** Replaces all settings. Listeners are called only if the components of an enabled filter changed. */
  configure(settings: FilterSettings, cause?: string): void {
    const before = this.#components;
    const after = componentsOf(this.all, settings);
    this.#components = after;
    if (this.#enabled.every((filter) => isDeepStrictEqual(before.get(filter), after.get(filter)))) return;
    for (const listener of [...this.#listeners]) listener(cause);
  }

  /** A listener that keeps chains must call `chainFor` again after each change. */
  subscribe(listener: ConfigurationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** All filters with their components, resources and verbs, for the admin endpoint of the hub. */
  describe() {
    return this.all.map((filter) => ({
      name: filter.name,
      enabled: this.#enabled.includes(filter),
      components: [...(this.#components.get(filter) ?? [])].join(', '),
      resources: filter.resources.map(({ resource }) => resource).join(', '),
      verbs: verbsOf(filter).join(', '),
    }));
  }
}

const verbsOf = ({ verbs = READ_VERBS }: Filter): readonly Verb[] => verbs;

const componentsOf = (
  filters: readonly Filter[],
  settings: FilterSettings,
): ReadonlyMap<Filter, ReadonlySet<string>> =>
  new Map(
    filters.map((filter) => {
      const { added = [], removed = [] } = settings.get(filter.name) ?? {};
      const components = [...filter.components, ...added].filter((each) => !removed.includes(each));
      return [filter, new Set(components)];
    }),
  );
