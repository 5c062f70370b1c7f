/**
 * JSON patch, RFC 6902, with the habits of the library inside kube-apiserver: `replace` on a field that is not there
 * adds it, a negative index counts from the end, `test` against null also holds for a field that is not there.
 * Whatever does not apply gets one and the same 422; only a malformed patch is told what is wrong with it.
 */
import { ApiError, badRequest } from '../errors.ts';
import { goJsonKind } from './go-format.ts';
import { isJsonMap, type JsonMap, jsonEqual, setField } from './json-value.ts';

const MAX_OPERATIONS = 10_000;

/** Not an answer yet: tells the caller of one operation that the patch as a whole cannot be applied. */
class DoesNotApply extends Error {}

export function applyJsonPatch<T extends object>(target: T, patch: unknown): T {
  const operations = decodeOperations(patch);
  // A patch document replaces the root by `path: ""`, so the root needs a parent like any other value.
  const root: JsonMap = { '': target };
  const owned = new Set<object>([root]);
  try {
    for (const operation of operations) applyOperation(root, operation, owned);
  } catch (error) {
    if (!(error instanceof DoesNotApply)) throw error;
    throw new ApiError(
      422,
      'Invalid',
      'the server rejected our request due to an error in our request',
      {},
      error,
    );
  }
  return root[''] as T;
}

function decodeOperations(patch: unknown): JsonMap[] {
  // Go decodes null into an empty list.
  if (patch === null) return [];
  const wrongType = (value: unknown, where: string): ApiError =>
    badRequest(`error decoding patch: json: cannot unmarshal ${goJsonKind(value)} into Go ${where}`);
  if (!Array.isArray(patch)) throw wrongType(patch, 'value of type []handlers.jsonPatchOp');
  if (patch.length > MAX_OPERATIONS) {
    throw new ApiError(
      413,
      'RequestEntityTooLarge',
      `Request entity is too large: The allowed maximum operations in a JSON patch is ${MAX_OPERATIONS}, got ${patch.length}`,
    );
  }
  return patch.map((operation: unknown) => {
    if (!isJsonMap(operation)) throw wrongType(operation, 'value of type handlers.jsonPatchOp');
    for (const field of ['op', 'path', 'from']) {
      const value = operation[field] ?? '';
      if (typeof value !== 'string')
        throw wrongType(value, `struct field jsonPatchOp.${field} of type string`);
    }
    return operation;
  });
}

function applyOperation(root: JsonMap, operation: JsonMap, owned: Set<object>): void {
  const at = (member: 'path' | 'from'): Place => findPlace(root, operation[member], owned);
  const value = operation.value ?? null;
  if (operation.path === '') {
    applyToWhole(root, operation.op, value);
    return;
  }
  switch (operation.op) {
    case 'add':
      at('path').add(value);
      break;
    case 'remove':
      at('path').remove();
      break;
    case 'replace':
      at('path').replace(value);
      break;
    case 'test':
      if (!jsonEqual(at('path').read() ?? null, value)) throw new DoesNotApply('test failed');
      break;
    case 'move': {
      const from = at('from');
      const moved = from.read();
      from.remove();
      at('path').add(moved ?? null);
      break;
    }
    case 'copy':
      // A clone: a later operation may change one of the two in place.
      at('path').add(structuredClone(at('from').read() ?? null));
      break;
    default:
      throw new DoesNotApply(`unexpected kind: ${String(operation.op)}`);
  }
}

/** The document as a whole can be tested and replaced, nothing else. */
function applyToWhole(root: JsonMap, op: unknown, value: unknown): void {
  if (op === 'test' && jsonEqual(root[''], value)) return;
  if (op !== 'replace' || typeof value !== 'object' || value === null) {
    throw new DoesNotApply('the document itself can only be tested or replaced');
  }
  root[''] = value;
}

/** One location in the document; its parents have been copied, so it may be changed. */
interface Place {
  read(): unknown;
  add(value: unknown): void;
  replace(value: unknown): void;
  remove(): void;
}

function findPlace(root: JsonMap, pointer: unknown, owned: Set<object>): Place {
  if (typeof pointer !== 'string') throw new DoesNotApply('missing path');
  if (!pointer.startsWith('/')) throw new DoesNotApply(`no such path: ${pointer}`);
  const keys = pointer.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let parent: JsonMap | unknown[] = root;
  for (const key of keys) parent = ownChild(parent, key, owned);
  return Array.isArray(parent) ? itemPlace(parent, last) : fieldPlace(parent, last);
}

/** Steps down, and copies what it steps into the first time: the input document stays as it was. */
function ownChild(parent: JsonMap | unknown[], key: string, owned: Set<object>): JsonMap | unknown[] {
  const place = Array.isArray(parent) ? itemPlace(parent, key) : fieldPlace(parent, key);
  const child = place.read();
  if (!Array.isArray(child) && !isJsonMap(child)) throw new DoesNotApply(`no such path: ${key}`);
  if (owned.has(child)) return child;
  const copy = Array.isArray(child) ? [...child] : { ...child };
  owned.add(copy);
  place.replace(copy);
  return copy;
}

function fieldPlace(map: JsonMap, name: string): Place {
  const write = (value: unknown): void => setField(map, name, value);
  return {
    read: () => (Object.hasOwn(map, name) ? map[name] : undefined),
    add: write,
    replace: write,
    remove: () => {
      if (!Object.hasOwn(map, name)) throw new DoesNotApply(`nonexistent key: ${name}`);
      delete map[name];
    },
  };
}

function itemPlace(list: unknown[], key: string): Place {
  const existing = (): number => listIndex(key, list.length);
  return {
    read: () => list[existing()],
    add: (value) => {
      if (key === '-') list.push(value);
      else list.splice(listIndex(key, list.length + 1), 0, value);
    },
    replace: (value) => {
      list[existing()] = value;
    },
    remove: () => {
      list.splice(existing(), 1);
    },
  };
}

function listIndex(key: string, length: number): number {
  if (!/^[+-]?\d+$/.test(key)) throw new DoesNotApply(`not an array index: ${key}`);
  const index = Number(key);
  const fromStart = index < 0 ? index + length : index;
  if (fromStart < 0 || fromStart >= length) throw new DoesNotApply(`invalid index: ${key}`);
  return fromStart;
}
