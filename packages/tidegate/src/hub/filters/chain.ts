import type { KubeObject } from '@tidegate/kube';
import type { Chain, Filter, FilterContext } from './filter.ts';

export const chainId = (filters: readonly Filter[]): string => filters.map(({ name }) => name).join(',');

/** Applies filters in order. Each filter receives the result of the previous one. */
export class FilterChain implements Chain {
  readonly id: string;
  readonly filters: readonly Filter[];
  readonly #context: FilterContext;

  constructor(filters: readonly Filter[], context: FilterContext) {
    this.id = chainId(filters);
    this.filters = filters;
    this.#context = context;
  }

  apply(object: KubeObject): KubeObject | undefined {
    let result: KubeObject | undefined = object;
    for (const filter of this.filters) {
      if (result === undefined) break;
      result = filter.apply(result, this.#context);
    }
    return result;
  }

  /** The dependencies of all filters, for the unfiltered object, also of filters after one that hides the object. */
  dependsOn(object: KubeObject): string[] {
    const dependencies = this.filters.flatMap((filter) => filter.dependsOn?.(object, this.#context) ?? []);
    return [...new Set(dependencies)];
  }
}
