/**
 * Why a JSON patch cannot be applied. Callers put it into their own words: an API server has to repeat the messages of
 * kube-apiserver, a controller writes a condition that a user can act on.
 */
export type JsonPatchProblem =
  | 'unknown operation'
  | 'not a pointer'
  /** The operation needs a `value`. */
  | 'no value'
  /** Nothing on the way to the pointer can hold a field or an item. */
  | 'no parent'
  /** The parent exists, the field or item does not. */
  | 'not found'
  /** The parent is a list, and the last step of the pointer is not an index. */
  | 'not an index'
  /** The parent is a list that is too short. */
  | 'index out of range'
  | 'test failed'
  /** The operation is not possible on the whole document. */
  | 'whole document'
  /** The patch has more than 10,000 operations. */
  | 'too many operations'
  /** The operations copy more than 3 MiB together. */
  | 'copies too large'
  /** The operations shift too many items of lists. */
  | 'too many shifts'
  /** The result would have more nested lists and maps than a document may have. */
  | 'too deep';

export interface JsonPatchFailure {
  problem: JsonPatchProblem;
  /** Which pointer of the operation it concerns. */
  side: 'path' | 'from';
  /** That pointer, as given. */
  pointer: unknown;
  /** The last step of the pointer, with `not found`, `not an index` and `index out of range`. */
  step?: string;
  /** The number of items in the list, with `not an index` and `index out of range`. */
  length?: number;
}

export class JsonPatchError extends Error implements JsonPatchFailure {
  override readonly name = 'JsonPatchError';
  /** The position of the operation in the patch, from 0. */
  readonly index: number;
  readonly problem: JsonPatchProblem;
  readonly side: 'path' | 'from';
  readonly pointer: unknown;
  readonly step: string | undefined;
  readonly length: number | undefined;

  constructor(index: number, { problem, side, pointer, step, length }: JsonPatchFailure) {
    super(`operation ${index} of the JSON patch, ${side} ${JSON.stringify(pointer)}: ${problem}`);
    this.index = index;
    this.problem = problem;
    this.side = side;
    this.pointer = pointer;
    this.step = step;
    this.length = length;
  }
}

/** Thrown inside one operation, which does not know its own position in the patch. */
export class Failure extends Error {
  readonly failure: JsonPatchFailure;

  constructor(failure: JsonPatchFailure) {
    super(failure.problem);
    this.failure = failure;
  }
}
