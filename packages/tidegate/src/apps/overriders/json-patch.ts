/** Applies the JSON Patches (RFC 6902) of an EdgeApplication, and explains to its author why one cannot be applied. */
import { MAX_JSON_DEPTH } from '@tidegate/kube';
import {
  applyJsonPatch as apply,
  type JsonPatchCost,
  type JsonPatchDialect,
  JsonPatchError,
  type JsonPatchOperation,
} from '@tidegate/kube/patch';

/** One operation of a patch cannot be applied. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  /** The index of the operation in the patch, from 0. */
  readonly operation: number;
  /** The JSON Pointer that the operation uses. */
  readonly path: string;

  constructor(operation: number, path: string, message: string) {
    super(message);
    this.operation = operation;
    this.path = path;
  }
}

/** Returns a copy of the document with all operations applied in order. Throws PatchError if any of them fails. */
export function applyJsonPatch<T>(
  document: T,
  operations: readonly JsonPatchOperation[],
  cost?: JsonPatchCost,
  dialect: JsonPatchDialect = 'rfc6902',
): T {
  try {
    return apply(document, operations, dialect, cost);
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    const { index, pointer } = error;
    throw new PatchError(index, String(pointer), explain(operations[index] ?? {}, error));
  }
}

/** Writes the message for the author of the patch. `copy` and `move` add at `path` and read at `from`. */
function explain({ op }: JsonPatchOperation, { problem, side, step, length }: JsonPatchError): string {
  const adds = op === 'add' || ((op === 'copy' || op === 'move') && side === 'path');
  switch (problem) {
    case 'unknown operation':
      return `unsupported operation ${JSON.stringify(op)?.slice(0, 100)}; supported operations: add, remove, replace, move, copy, test`;
    case 'not a pointer':
      return 'a path must be a JSON Pointer, which starts with a slash';
    case 'no value':
      return `value is required for operation ${op}`;
    case 'test failed':
      return 'the test failed: the value at this path is different';
    case 'whole document':
      return 'the whole object cannot be removed';
    case 'too many operations':
      return 'a patch can have at most 10000 operations: use several patches, or change the template';
    case 'copies too large':
      return 'the operations of the patch copy more than 3 MiB: change the template instead';
    case 'too many shifts':
      return 'the patch inserts into, or removes from, the front of a long list too often: replace the list';
    case 'too deep':
      return `the object would have more than ${MAX_JSON_DEPTH} nested lists and maps`;
    case 'no parent':
      if (adds) return 'the parent of this path does not exist: add it first';
      return 'this path does not exist';
    case 'not found':
      return 'this path does not exist';
    case 'not an index':
    case 'index out of range':
      if (adds)
        return `${JSON.stringify(step)} is not a valid index of a list with ${length} items: use - to append`;
      return 'this path does not exist';
  }
}
