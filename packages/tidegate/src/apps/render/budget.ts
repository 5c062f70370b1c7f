/**
 * What the rendering of one application may cost. An application of a few kilobytes can describe gigabytes: its patches
 * copy, its rules apply to every workload, and its workloads to every pool. The manager renders the applications of all
 * users, so each has a budget.
 */
import { type KubeObject, MAX_JSON_BYTES, MAX_JSON_DEPTH, measureJson } from '@tidegate/kube';

/** More objects do not fit into the status of an application either. */
const MAX_OBJECTS = 10_000;
/** About two seconds of CPU time. A step is about the application of a rule to one container. */
const MAX_STEPS = 1_000_000;
/** A rule copies the maps that contain what it changes. */
const BYTES_PER_STEP = 256;
/** All objects together, and what patches make of them on the way. */
const MAX_BYTES = 256 * 1024 * 1024;

/** The application as a whole is too large. */
export class BudgetError extends Error {
  override readonly name = 'BudgetError';
}

export class RenderBudget {
  #steps = 0;
  #objects = 0;
  #bytes = 0;

  /** Counts the application of rules to one workload of this size. */
  rules(count: number, { containers, bytes }: { containers: number; bytes: number }): void {
    this.steps(count * (1 + containers + Math.ceil(bytes / BYTES_PER_STEP)));
  }

  steps(count: number): void {
    this.#steps += count;
    if (this.#steps > MAX_STEPS)
      throw new BudgetError(
        `the overriders of all targets cost more than ${MAX_STEPS} steps: use fewer overriders or targets, or split the application`,
      );
  }

  object(): void {
    if (++this.#objects > MAX_OBJECTS)
      throw new BudgetError(`more than ${MAX_OBJECTS} objects are rendered: split the application`);
  }

  /** Why the object is too large for an API server; undefined if it is not. */
  problemOf(object: KubeObject): string | undefined {
    const size = measureJson(object);
    if (size === 'too deep') return `the object has more than ${MAX_JSON_DEPTH} nested lists and maps`;
    this.#bytes += size === 'too large' ? MAX_JSON_BYTES : size;
    if (this.#bytes > MAX_BYTES)
      throw new BudgetError('the rendered objects are larger than 256 MiB together: split the application');
    return size === 'too large' ? 'the object is larger than 3 MiB, which no API server accepts' : undefined;
  }
}
