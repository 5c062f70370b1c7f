import type { KubeObject } from '@tidegate/kube';
import type { Chain, Filter, FilterContext } from './filter.ts';

export const chainId = (filters: readonly Filter[]): string => filters.map(({ name }) => name).join(',');

/** Filters one after the other: each sees what the one before has left. */
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
    let left: KubeObject | undefined = object;
    for (const filter of this.filters) {
      if (left === undefined) break;
      left = filter.apply(left, this.#context);
    }
    return left;
  }

  dependsOn(object: KubeObject): string[] {
    const dependencies = this.filters.flatMap((filter) => filter.dependsOn?.(object, this.#context) ?? []);
    return [...new Set(dependencies)];
  }
}
