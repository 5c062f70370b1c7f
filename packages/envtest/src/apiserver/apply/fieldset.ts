/**
 * Sets of field paths. A set has the form of `fieldsV1` on the wire, so decoding and encoding cost nothing: nested
 * objects whose keys are path elements. `{}` below a key means that the path is a member. A path with children is a
 * member only if its children include `.`. Keys are sorted. Sets are immutable; operations share unchanged parts. At
 * the root, `{}` is the empty set, because the object as a whole is not a field.
 */
import { canonicalElement, compareElements, printElement, SELF } from './path-element.ts';

export interface FieldSet {
  readonly [element: string]: FieldSet;
}

export const EMPTY: FieldSet = Object.freeze({});

/** A path that is a member and has no children. */
export const LEAF: FieldSet = Object.freeze({});

export function isEmpty(set: FieldSet): boolean {
  for (const _ in set) return false;
  return true;
}

const isLeaf = isEmpty;

/** Whether the path of the node itself is in the set. */
export const isMember = (node: FieldSet): boolean => node[SELF] !== undefined || isLeaf(node);

/** A node under construction; `sealed` turns it into a set. */
export type FieldNode = Record<string, FieldSet>;

/** The node with sorted keys. Callers add elements in any order and seal once. */
export function sealed(node: FieldSet): FieldSet {
  const keys = Object.keys(node);
  let sorted = true;
  for (let i = 1; i < keys.length && sorted; i++) {
    sorted = compareElements(keys[i - 1] as string, keys[i] as string) < 0;
  }
  if (sorted) return node;
  const result: FieldNode = {};
  for (const key of keys.sort(compareElements)) result[key] = node[key] as FieldSet;
  return result;
}

/** The rest of a node after children were removed; undefined if it is empty. */
function remains(node: FieldNode): FieldSet | undefined {
  let children = 0;
  for (const key in node) if (key !== SELF) children++;
  if (children > 0) return node;
  return node[SELF] === undefined ? undefined : LEAF;
}

/** Makes the path of the node a member as well. */
export function withSelf(node: FieldSet): FieldSet {
  return isMember(node) ? node : { [SELF]: LEAF, ...node };
}

/** The paths of both sets. */
export function union(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b || isEmpty(b)) return a;
  return isEmpty(a) ? b : unionOfNodes(a, b);
}

/** Like `union`, but an empty node is a leaf and not the empty set. */
export function unionOfNodes(a: FieldSet, b: FieldSet): FieldSet {
  if (a === b) return a;
  if (isLeaf(a)) return withSelf(b);
  if (isLeaf(b)) return withSelf(a);
  let result: FieldNode | undefined;
  for (const key in b) {
    const mine = a[key];
    const theirs = b[key] as FieldSet;
    const both = mine === undefined ? theirs : key === SELF ? LEAF : unionOfNodes(mine, theirs);
    if (both === mine || (key === SELF && mine !== undefined)) continue;
    result ??= { ...a };
    result[key] = both;
  }
  return result === undefined ? a : sealed(result);
}

/** Paths of `a` that are not in `b`. Only equal paths are removed: `spec` in `b` does not remove `spec.replicas`. */
export function difference(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return a;
  return differenceOfNodes(a, b) ?? EMPTY;
}

function differenceOfNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isLeaf(a)) return isMember(b) ? undefined : a;
  let result: FieldNode | undefined;
  const removed = isLeaf(b) ? { [SELF]: LEAF } : b;
  for (const key in removed) {
    const mine = a[key];
    if (mine === undefined) continue;
    const rest = key === SELF ? undefined : differenceOfNodes(mine, removed[key] as FieldSet);
    if (rest === mine) continue;
    result ??= { ...a };
    if (rest === undefined) delete result[key];
    else result[key] = rest;
  }
  return result === undefined ? a : remains(result);
}

/** Paths of `a` that are neither in `b` nor below a path in `b`. */
export function recursiveDifference(a: FieldSet, b: FieldSet): FieldSet {
  return isEmpty(a) ? a : (recursiveDifferenceOfNodes(a, b) ?? EMPTY);
}

function recursiveDifferenceOfNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  let result: FieldNode | undefined;
  for (const key in b) {
    const mine = a[key];
    if (mine === undefined || key === SELF) continue;
    const removed = b[key] as FieldSet;
    const rest = isMember(removed) ? undefined : recursiveDifferenceOfNodes(mine, removed);
    if (rest === mine) continue;
    result ??= { ...a };
    if (rest === undefined) delete result[key];
    else result[key] = rest;
  }
  return result === undefined ? a : remains(result);
}

/** The paths that are in both sets. */
export function intersection(a: FieldSet, b: FieldSet): FieldSet {
  if (isEmpty(a) || isEmpty(b)) return EMPTY;
  return intersectionOfNodes(a, b) ?? EMPTY;
}

function intersectionOfNodes(a: FieldSet, b: FieldSet): FieldSet | undefined {
  if (isLeaf(a)) return isMember(b) ? LEAF : undefined;
  if (isLeaf(b)) return isMember(a) ? LEAF : undefined;
  const result: FieldNode = {};
  for (const key in a) {
    const theirs = b[key];
    if (theirs === undefined) continue;
    const both = key === SELF ? LEAF : intersectionOfNodes(a[key] as FieldSet, theirs);
    if (both !== undefined) result[key] = both;
  }
  return remains(result);
}

/** Whether exactly this path is a member. A path above it does not count. */
export function has(set: FieldSet, path: readonly string[]): boolean {
  let node: FieldSet | undefined = set;
  for (const element of path) node = node?.[element];
  return node !== undefined && path.length > 0 && isMember(node);
}

/** Builds a set from paths of elements. */
export function setOf(paths: Iterable<readonly string[]>): FieldSet {
  let set = EMPTY;
  for (const path of paths) {
    let node = LEAF;
    for (const element of [...path].reverse()) node = { [element]: node };
    if (path.length > 0) set = union(set, node);
  }
  return set;
}

/** Every member in the order of kube-apiserver: all members of a level come before the paths below it. */
export function* pathsOf(set: FieldSet, prefix: readonly string[] = []): Generator<readonly string[]> {
  const keys = Object.keys(set).filter((key) => key !== SELF);
  for (const key of keys) if (isMember(set[key] as FieldSet)) yield [...prefix, key];
  for (const key of keys) yield* pathsOf(set[key] as FieldSet, [...prefix, key]);
}

export const printPath = (path: readonly string[]): string => path.map(printElement).join('');

/** Decodes fieldsV1 from a client. Returns the argument if it is already canonical; throws if it is malformed. */
export function decodeFieldSet(fieldsV1: unknown): FieldSet {
  if (fieldsV1 === undefined || fieldsV1 === null) return EMPTY;
  if (isCanonical(fieldsV1)) return fieldsV1[SELF] === undefined ? fieldsV1 : withoutSelf(fieldsV1);
  return withoutSelf(decodeNode(fieldsV1));
}

const withoutSelf = (node: FieldSet): FieldSet => differenceOfNodes(node, LEAF) ?? EMPTY;

/** Whether the value is already sorted and in normal form, as everything is that this server wrote. */
function isCanonical(raw: unknown): raw is FieldSet {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return false;
  const node = raw as Record<string, unknown>;
  let previous: string | undefined;
  for (const element in node) {
    if (element !== SELF && (canonicalElement(element) !== element || !isCanonical(node[element])))
      return false;
    if (previous !== undefined && compareElements(previous, element) >= 0) return false;
    previous = element;
  }
  // A node with only `.` is written as an empty node.
  return previous !== SELF;
}

function decodeNode(raw: unknown): FieldSet {
  if (raw === null) return LEAF;
  if (typeof raw !== 'object' || Array.isArray(raw)) throw new Error('fieldsV1 must be nested maps');
  const node: FieldNode = {};
  for (const [text, below] of Object.entries(raw)) {
    const element = text === SELF ? SELF : canonicalElement(text);
    if (element !== undefined) node[element] = element === SELF ? LEAF : decodeNode(below);
  }
  return sealed(remains(node) ?? LEAF);
}
