import type { HostName } from '../model.ts';
import type { Ensured, FailedHost } from '../provisioners/index.ts';

/** Why a call has failed. */
export interface CallProblem {
  readonly message: string;
  /** CamelCase, for example `QuotaExceeded`, if the error has one. */
  readonly reason?: string;
}

/** The last results of the calls for one router. */
export interface RouterProgram {
  readonly ensured?: Ensured;
  /** Generation of the L7Router that `ensured` is about. */
  readonly ensuredGeneration?: number;
  /** Why the last `ensure` or `remove` failed. What an earlier call created may still be there. */
  readonly problem?: CallProblem;
  /** Generation of the L7Router whose hosts are programmed, and the hosts that are not served. */
  readonly appliedGeneration?: number;
  readonly failed?: ReadonlyMap<HostName, FailedHost>;
  /** Why the last `reconcile` failed. The load balancer may have any part of the routes. */
  readonly programProblem?: CallProblem;
}

const NONE: RouterProgram = {};

/** What provisioners have returned, by router. Only of this run of the manager: a restarted manager calls them again. */
export class RouterPrograms {
  readonly #programs = new Map<string, RouterProgram>();
  readonly #listeners: ((router: string) => void)[] = [];

  get(router: string): RouterProgram {
    return this.#programs.get(router) ?? NONE;
  }

  /** Replaces the given fields. A field that is given as undefined is removed. */
  update(router: string, change: { [K in keyof RouterProgram]: RouterProgram[K] | undefined }): void {
    const entries = Object.entries({ ...this.get(router), ...change }).filter(
      ([, value]) => value !== undefined,
    );
    this.#programs.set(router, Object.fromEntries(entries));
    for (const listener of this.#listeners) listener(router);
  }

  delete(router: string): void {
    this.#programs.delete(router);
  }

  onChange(listener: (router: string) => void): void {
    this.#listeners.push(listener);
  }
}
