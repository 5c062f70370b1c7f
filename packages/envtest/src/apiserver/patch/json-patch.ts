/**
 * JSON patch, RFC 6902, with the habits of the library inside kube-apiserver: `replace` on a field that is not there
 * adds it, a negative index counts from the end, `test` against null also holds for a field that is not there.
 * Whatever does not apply gets one and the same 422, with the reason as its cause for those who may tell it (a webhook is
 * told, a client is not); only a malformed patch is told what is wrong with it.
 */
import { ApiError, badRequest } from '@tidegate/serving';
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
  const { op, path, from } = operation;
  const value = operation.value ?? null;
  if (path === '') {
    applyToWhole(root, op, value);
    return;
  }
  const missing = (what: string): string => `${op} operation does not apply: ${what}: missing value`;
  const at = (pointer: unknown, otherwise: string): Place => {
    const place = typeof pointer === 'string' ? findPlace(root, pointer, owned) : undefined;
    if (place === undefined) throw new DoesNotApply(missing(otherwise));
    return place;
  };
  switch (op) {
    case 'add': {
      const place = at(path, `doc is missing path: "${path}"`);
      within(`error in add for path: '${path}'`, () => place.add(value));
      break;
    }
    case 'remove': {
      const place = at(path, `doc is missing path: "${path}"`);
      within(`error in remove for path: '${path}'`, () => place.remove());
      break;
    }
    case 'replace': {
      const place = at(path, `doc is missing path: ${path}`);
      if (!place.replaceable()) throw new DoesNotApply(missing(`doc is missing key: ${path}`));
      place.replace(value);
      break;
    }
    case 'test': {
      const place = at(path, `is missing path: ${path}`);
      const found = within(`error in test for path: '${path}'`, () => place.read());
      if (!jsonEqual(found ?? null, value))
        throw new DoesNotApply(`testing value ${path} failed: test failed`);
      break;
    }
    case 'move': {
      const source = at(from, `doc is missing from path: ${from}`);
      const moved = within(`error in move for path: '${from}'`, () => {
        const value = source.read();
        source.remove();
        return value;
      });
      const place = at(path, `doc is missing destination path: ${path}`);
      within(`error in move for path: '${path}'`, () => place.add(moved ?? null));
      break;
    }
    case 'copy': {
      const source = at(from, `doc is missing from path: ${from}`);
      // A clone: a later operation may change one of the two in place.
      const copy = structuredClone(within(`error in copy for from: '${from}'`, () => source.read()) ?? null);
      const place = at(path, `doc is missing destination path: ${path}`);
      within('error while adding value during copy', () => place.add(copy));
      break;
    }
    default:
      throw new DoesNotApply(`Unexpected kind: ${String(op)}`);
  }
}

/** Tells where it was that something failed. */
function within<T>(where: string, act: () => T): T {
  try {
    return act();
  } catch (cause) {
    if (!(cause instanceof DoesNotApply)) throw cause;
    throw new DoesNotApply(`${where}: ${cause.message}`, { cause });
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
  /** A field can be replaced before it is there, an item can not. */
  replaceable(): boolean;
  replace(value: unknown): void;
  remove(): void;
}

/** Undefined when there is nothing that could hold it. */
function findPlace(root: JsonMap, pointer: string, owned: Set<object>): Place | undefined {
  if (!pointer.startsWith('/')) return undefined;
  const keys = pointer.split('/').map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
  const last = keys.pop() ?? '';
  let parent: JsonMap | unknown[] | undefined = root;
  for (const key of keys) {
    parent = ownChild(parent, key, owned);
    if (parent === undefined) return undefined;
  }
  return placeIn(parent, last);
}

const placeIn = (parent: JsonMap | unknown[], key: string): Place =>
  Array.isArray(parent) ? itemPlace(parent, key) : fieldPlace(parent, key);

/** Steps down, and copies what it steps into the first time: the input document stays as it was. */
function ownChild(
  parent: JsonMap | unknown[],
  key: string,
  owned: Set<object>,
): JsonMap | unknown[] | undefined {
  const place = placeIn(parent, key);
  const child = place.replaceable() ? place.read() : undefined;
  if (!Array.isArray(child) && !isJsonMap(child)) return undefined;
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
    replaceable: () => true,
    replace: write,
    remove: () => {
      if (!Object.hasOwn(map, name)) {
        throw new DoesNotApply(`Unable to remove nonexistent key: ${name}: missing value`);
      }
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
      else if (!isIndex(key)) within(`value was not a proper array index: '${key}'`, existing);
      else list.splice(listIndex(key, list.length + 1), 0, value);
    },
    replaceable: () => isIndex(key) && indexIn(key, list.length) !== undefined,
    replace: (value) => {
      list[existing()] = value;
    },
    remove: () => {
      list.splice(existing(), 1);
    },
  };
}

const isIndex = (key: string): boolean => /^[+-]?\d+$/.test(key);

function indexIn(key: string, length: number): number | undefined {
  const index = Number(key);
  const fromStart = index < 0 ? index + length : index;
  return fromStart < 0 || fromStart >= length ? undefined : fromStart;
}

function listIndex(key: string, length: number): number {
  if (!isIndex(key)) {
    throw new DoesNotApply(`strconv.Atoi: parsing ${JSON.stringify(key)}: invalid syntax`);
  }
  const index = indexIn(key, length);
  if (index !== undefined) return index;
  throw new DoesNotApply(`Unable to access invalid index: ${Number(key)}: invalid index referenced`);
}
