/**
 * Why a strategic merge patch is invalid. The API server repeats the messages of kube-apiserver, which quote the values;
 * other callers can use the message of the error.
 */
import type { JsonMap } from '../base/json.ts';

export type StrategicMergeProblem =
  /** The value or the name of a directive does not have the form that the directive needs. */
  | { type: 'invalid directive'; directive: DirectiveName }
  /** A `$patch` that is neither `delete` nor `replace`. */
  | { type: 'unknown $patch'; value: unknown; map: JsonMap }
  /** `$patch: merge` in a list item, which no version of Kubernetes supports. */
  | { type: 'list merge directive' }
  /** An item of a list that is merged by key lacks the key. */
  | { type: 'no merge key in item'; item: JsonMap; mergeKey: string }
  /** A list of maps is to be merged, and its strategy names no merge key. */
  | { type: 'no merge key for list' }
  | { type: 'wrong type'; expected: 'list' | 'map'; actual: unknown }
  /** The items of the patch are not in the order of `$setElementOrder`. */
  | { type: 'order mismatch'; patch: unknown[]; order: unknown[] }
  | { type: 'mixed item types'; lists: unknown[][] }
  | { type: 'no items' }
  | { type: 'list of lists' };

export type DirectiveName = '$deleteFromPrimitiveList' | '$retainKeys' | '$setElementOrder';

export class StrategicMergeError extends Error {
  override readonly name = 'StrategicMergeError';
  readonly problem: StrategicMergeProblem;

  constructor(problem: StrategicMergeProblem) {
    super(`the strategic merge patch is invalid: ${describe(problem)}`);
    this.problem = problem;
  }
}

function describe(problem: StrategicMergeProblem): string {
  switch (problem.type) {
    case 'invalid directive':
      return `${problem.directive} is malformed`;
    case 'unknown $patch':
      return `$patch ${JSON.stringify(problem.value)} is unknown; use delete or replace`;
    case 'list merge directive':
      return 'a list item cannot have $patch: merge';
    case 'no merge key in item':
      return `a list item has no ${JSON.stringify(problem.mergeKey)}, the merge key of its list`;
    case 'no merge key for list':
      return 'a list of maps has no merge key';
    case 'wrong type':
      return `expected a ${problem.expected}, got ${JSON.stringify(problem.actual)}`;
    case 'order mismatch':
      return 'the items of a list are not in the order of $setElementOrder';
    case 'mixed item types':
      return 'the items of a list have different types';
    case 'no items':
      return 'a list with $setElementOrder has no items';
    case 'list of lists':
      return 'lists of lists cannot be merged';
  }
}
