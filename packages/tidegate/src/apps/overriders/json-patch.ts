/** JSON patch, RFC 6902. */
import { isDeepStrictEqual } from 'node:util';
import { INDEX, isMap, type Path, parsePointer, read, without, write } from '../json.ts';

export interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: unknown;
}

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
export function applyJsonPatch<T>(document: T, operations: readonly Operation[]): T {
  return operations.reduce<unknown>((changed, operation, index) => {
    const fail = (pointer: unknown, message: string): never => {
      throw new PatchError(index, String(pointer), message);
    };
    return applyOperation(changed, operation, fail);
  }, document) as T;
}

type Fail = (pointer: unknown, message: string) => never;

function applyOperation(document: unknown, operation: Operation, fail: Fail): unknown {
  const path = pathOf(operation.path, fail);
  switch (operation.op) {
    case 'add':
      return add(document, path, givenValue(operation, fail), operation.path, fail);
    case 'remove':
      return remove(document, path, operation.path, fail);
    case 'replace':
      existing(document, path, operation.path, fail);
      return write(document, path, givenValue(operation, fail));
    case 'test':
      if (!isDeepStrictEqual(existing(document, path, operation.path, fail), givenValue(operation, fail)))
        fail(operation.path, 'the test failed: another value is there');
      return document;
    case 'copy':
    case 'move': {
      const from = pathOf(operation.from, fail);
      const value = existing(document, from, operation.from, fail);
      const rest = operation.op === 'move' ? remove(document, from, operation.from, fail) : document;
      return add(rest, path, value, operation.path, fail);
    }
    default:
      return fail(
        operation.path,
        `${JSON.stringify(operation.op)} is none of add, remove, replace, move, copy and test`,
      );
  }
}

function pathOf(pointer: unknown, fail: Fail): Path {
  const path = typeof pointer === 'string' ? parsePointer(pointer) : undefined;
  return path ?? fail(pointer, 'a path is text that begins with a slash');
}

const givenValue = (operation: Operation, fail: Fail): unknown =>
  'value' in operation ? operation.value : fail(operation.path, `to ${operation.op}, say in value what`);

function existing(document: unknown, path: Path, pointer: unknown, fail: Fail): unknown {
  const found = read(document, path);
  return found === undefined ? fail(pointer, 'there is nothing at this path') : found;
}

function add(document: unknown, path: Path, value: unknown, pointer: unknown, fail: Fail): unknown {
  const step = path.at(-1);
  if (step === undefined) return value;
  const parentPath = path.slice(0, -1);
  const parent = read(document, parentPath);
  if (Array.isArray(parent)) {
    const index = step === '-' ? parent.length : INDEX.test(step) ? Number(step) : -1;
    if (index < 0 || index > parent.length)
      return fail(pointer, `a list of ${parent.length} has no place ${JSON.stringify(step)}: - is its end`);
    return write(document, parentPath, parent.toSpliced(index, 0, value));
  }
  return isMap(parent)
    ? write(document, path, value)
    : fail(pointer, 'there is nothing that could hold it: add what is above it first');
}

function remove(document: unknown, path: Path, pointer: unknown, fail: Fail): unknown {
  existing(document, path, pointer, fail);
  return path.length === 0 ? fail(pointer, 'the whole object can not be removed') : without(document, path);
}
