/**
 * Drift: fields that other clients added to an object of an application. `metadata.managedFields` lists the fields of each
 * client (field manager). The fields that the application renders belong to Tidegate, so they are never drift: an apply
 * restores them. What is left are additions, for example an environment variable from `kubectl set env`.
 */
import { isDeepStrictEqual } from 'node:util';
import { isJsonMap, type JsonMap, type KubeObject } from '@tidegate/kube';
import { APPS_FIELD_MANAGER, type DriftedField } from '../../api/index.ts';
import { type Path, read } from '../json.ts';

/** An addition, with its path in the object. */
export interface Addition extends DriftedField {
  readonly path: Path;
}

/** The programs of Kubernetes complete objects: they bind claims, aggregate roles, and scale for autoscalers. */
const CONTROL_PLANE = new Set([
  'cloud-controller-manager',
  'clusterrole-aggregation-controller',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubelet',
]);

/** Controllers and tools keep notes in the metadata of an object. They do not change what runs. */
const NOT_CONTENT = new Set(['f:apiVersion', 'f:kind', 'f:metadata', 'f:status']);

/** `kubectl rollout restart` writes it. To remove it would restart the pods again. */
const RESTARTED_AT = 'f:kubectl.kubernetes.io/restartedAt';

/** Returns the fields that other clients added. Fields of other versions of the API, which have other names, are not found. */
export function additionsTo(object: KubeObject): Addition[] {
  const { managedFields = [] } = object.metadata;
  const ours = managedFields.flatMap(({ manager, fieldsV1 = {} }) =>
    manager === APPS_FIELD_MANAGER ? [fieldsV1] : [],
  );
  const found = new Map<string, Addition>();
  for (const { manager = 'unknown', fieldsV1 = {}, subresource } of managedFields) {
    if (manager === APPS_FIELD_MANAGER || CONTROL_PLANE.has(manager) || subresource === 'status') continue;
    const content = Object.fromEntries(Object.entries(fieldsV1).filter(([name]) => !NOT_CONTENT.has(name)));
    for (const { field, path } of within(object, content, ours)) {
      if (!found.has(field)) found.set(field, { field, manager, path });
    }
  }
  return [...found.values()];
}

type Place = Pick<Addition, 'field' | 'path'>;

/** The fields of the set `theirs` that no set of `ours` contains, below a place in the object. */
function within(
  object: KubeObject,
  theirs: JsonMap,
  ours: readonly JsonMap[],
  at: Place = { field: '', path: [] },
): Place[] {
  return Object.entries(theirs).flatMap(([element, below]) => {
    if (element === '.' || element === RESTARTED_AT || !isJsonMap(below)) return [];
    const step = stepTo(element, read(object, at.path));
    if (step === undefined) return [];
    const next: Place = { field: at.field + step.text, path: [...at.path, step.key] };
    if (read(object, next.path) === undefined) return [];
    const shared = ours.map((set) => set[element]).filter(isJsonMap);
    const isLeaf = Object.keys(below).every((name) => name === '.');
    // An entry of a list that the application does not have is one addition, whatever is in it.
    const isWhole = isLeaf || !element.startsWith('f:');
    if (isWhole && shared.length === 0) return [{ field: next.field.replace(/^\./, ''), path: next.path }];
    return isLeaf ? [] : within(object, below, shared, next);
  });
}

/**
 * One element of a field set: `f:` and the name of a field, `k:` and the keys of an entry, `v:` and the value of an entry, or
 * `i:` and an index. Returns undefined if the object has no such entry.
 */
function stepTo(element: string, parent: unknown): { key: string; text: string } | undefined {
  const [kind, rest] = [element.slice(0, 2), element.slice(2)];
  if (kind === 'f:')
    return { key: rest, text: /^[\w-]+$/.test(rest) ? `.${rest}` : `[${JSON.stringify(rest)}]` };
  if (!Array.isArray(parent)) return undefined;
  if (kind === 'i:') return { key: rest, text: `[${rest}]` };
  const wanted = parsed(rest);
  const isWanted = (item: unknown): boolean =>
    kind === 'k:' && isJsonMap(wanted)
      ? isJsonMap(item) && Object.entries(wanted).every(([key, value]) => isDeepStrictEqual(item[key], value))
      : isDeepStrictEqual(item, wanted);
  const index = parent.findIndex(isWanted);
  if (index < 0) return undefined;
  const keys = isJsonMap(wanted)
    ? Object.entries(wanted).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    : [JSON.stringify(wanted)];
  return { key: String(index), text: `[${keys.join(',')}]` };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

interface JsonPatchOperation {
  readonly op: 'test' | 'remove';
  readonly path: string;
  readonly value?: unknown;
}

/**
 * The JSON Patch that removes additions. It fails if the content of the object has changed meanwhile, because then an index in a list
 * can be that of another entry. The resourceVersion would not do: it changes with every update of the status.
 */
export function removalOf(object: KubeObject, additions: readonly Addition[]): JsonPatchOperation[] {
  const roots = [...new Set(additions.map(({ path }) => path[0] ?? ''))];
  return [
    ...roots.map(
      (root): JsonPatchOperation => ({ op: 'test', path: escaped(root), value: read(object, [root]) }),
    ),
    // From the end of each list, so that the other indexes stay valid.
    ...additions
      .map(({ path }) => path)
      .filter((path, _, all) => !all.some((other) => isWithin(path, other)))
      .toSorted(byLastIndex)
      .map((path): JsonPatchOperation => ({ op: 'remove', path: path.map(escaped).join('') })),
  ];
}

const isWithin = (path: Path, other: Path): boolean =>
  path.length > other.length && other.every((step, index) => step === path[index]);

function byLastIndex(a: Path, b: Path): number {
  const at = a.findIndex((step, index) => step !== b[index]);
  if (at < 0 || b[at] === undefined) return 0;
  const [x, y] = [Number(a[at]), Number(b[at])];
  if (!Number.isNaN(x) && !Number.isNaN(y)) return y - x;
  return a[at]! < b[at]! ? -1 : 1;
}

const escaped = (step: string): string => `/${step.replaceAll('~', '~0').replaceAll('/', '~1')}`;

/**
 * The additions whose removal changes the object. A client that creates an object owns also the defaults of the API server: if
 * they are removed, they return.
 */
export const withoutDefaults = (
  additions: readonly Addition[],
  before: KubeObject,
  after: KubeObject,
): Addition[] => {
  const left = new Map(additionsTo(after).map((addition) => [addition.field, addition]));
  return additions.filter(({ field, path }) => {
    const same = left.get(field);
    return same === undefined || !isDeepStrictEqual(read(before, path), read(after, same.path));
  });
};
