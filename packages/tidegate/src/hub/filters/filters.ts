import { isDeepStrictEqual } from 'node:util';
import { ConfigError } from '@tidegate/kube';
import type { Verb } from '@tidegate/serving';
import { chainId, FilterChain } from './chain.ts';
import type { Chain, Filter, FilterContext, FilteredResource } from './filter.ts';

/** Whom one filter is for besides its own components, and for whom of those not. */
export interface ComponentChanges {
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/** By the names of filters. */
export type FilterSettings = ReadonlyMap<string, ComponentChanges>;

/** Told that chains may be others now. `cause` is the version of the configuration, where it is known. */
export type ConfigurationListener = (cause?: string) => void;

export interface FiltersOptions {
  /** In the order in which they are applied. */
  filters: readonly Filter[];
  context: FilterContext;
  /** Names of filters, or `*` for all. */
  disabled: readonly string[];
}

const READ_VERBS: readonly Verb[] = ['get', 'list', 'watch'];

/** Decides which filters stand between a component and a resource. Changes take effect at once. */
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
        `there is no filter ${JSON.stringify(name)} to disable: name some of ${names.join(', ')}, or * for all`,
      );
    }
    this.all = filters;
    this.#context = context;
    this.#enabled = disabled.includes('*') ? [] : filters.filter(({ name }) => !disabled.includes(name));
    this.#components = componentsOf(filters, new Map());
  }

  /** The same object for the same set of filters. */
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

  /** In the place of all settings before. */
  configure(settings: FilterSettings, cause?: string): void {
    const before = this.#components;
    const after = componentsOf(this.all, settings);
    this.#components = after;
    if (this.#enabled.every((filter) => isDeepStrictEqual(before.get(filter), after.get(filter)))) return;
    for (const listener of [...this.#listeners]) listener(cause);
  }

  /** Whoever holds a chain has to ask for it again when told. */
  subscribe(listener: ConfigurationListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For people: what is on, and for whom. */
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
