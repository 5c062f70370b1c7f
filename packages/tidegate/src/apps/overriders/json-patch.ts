/** The JSON patches of an EdgeApplication, and why one of them does not apply, for the user who wrote it. */
import { applyJsonPatch as apply, JsonPatchError, type JsonPatchOperation } from '@tidegate/kube/patch';

/** `operation` is its number in the patch, from 0. */
export class PatchError extends Error {
  override readonly name = 'PatchError';
  readonly operation: number;
  readonly path: string;

  constructor(operation: number, path: string, message: string) {
    super(message);
    this.operation = operation;
    this.path = path;
  }
}

/** The document with all operations done, in order. Throws PatchError, and then none is. */
export function applyJsonPatch<T>(document: T, operations: readonly JsonPatchOperation[]): T {
  try {
    return apply(document, operations);
  } catch (error) {
    if (!(error instanceof JsonPatchError)) throw error;
    const { index, pointer } = error;
    throw new PatchError(index, String(pointer), explain(operations[index] ?? {}, error));
  }
}

function explain({ op }: JsonPatchOperation, { problem, side, step, length }: JsonPatchError): string {
  const adds = op === 'add' || ((op === 'copy' || op === 'move') && side === 'path');
  switch (problem) {
    case 'unknown operation':
      return `${JSON.stringify(op)} is none of add, remove, replace, move, copy and test`;
    case 'not a pointer':
      return 'a path is text that begins with a slash';
    case 'no value':
      return `to ${op}, say in value what`;
    case 'test failed':
      return 'the test failed: another value is there';
    case 'whole document':
      return 'the whole object can not be removed';
    case 'no parent':
      if (adds) return 'there is nothing that could hold it: add what is above it first';
      return 'there is nothing at this path';
    case 'not found':
      return 'there is nothing at this path';
    case 'not an index':
    case 'index out of range':
      if (adds) return `a list of ${length} has no place ${JSON.stringify(step)}: - is its end`;
      return 'there is nothing at this path';
  }
}
