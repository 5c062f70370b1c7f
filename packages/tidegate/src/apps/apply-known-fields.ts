import {
  ApiStatusError,
  type Applier,
  type CallOptions,
  isJsonMap,
  type KubeObject,
  type Resource,
} from '@tidegate/kube';
import { type Path, read, without } from './json.ts';
import { withPortProtocols } from './port-protocols.ts';

/** The result of `applyKnownFields`. */
export interface Applied {
  /** The object that the server returned. */
  readonly object: KubeObject;
  /** Fields that were left out because the server does not know them, as the server names them. */
  readonly dropped: readonly string[];
}

/** A server may report only some unknown fields per request. This limit stops a loop that makes no progress. */
const MAX_ATTEMPTS = 10;

/**
 * Applies an object with server-side apply, without the fields that its kind does not have.
 *
 * `kubectl create` only warns about unknown fields, but server-side apply rejects them ("field not declared in schema").
 * Existing manifests contain such fields, for example the sample EdgeApplication of KubeEdge. So the fields are read from
 * the error, removed from the object, and the apply is repeated. Callers report the removed fields as a warning.
 */
export async function applyKnownFields(
  applier: Applier,
  resource: Resource,
  object: KubeObject,
  options: CallOptions & { dryRun?: boolean } = {},
): Promise<Applied> {
  let known = withPortProtocols(object);
  const dropped: string[] = [];
  for (let attempt = 1; ; attempt++) {
    try {
      return { object: await applier.apply(known, { ...options, resource }), dropped };
    } catch (error) {
      const unknown = error instanceof ApiStatusError ? unknownFields(error.message) : [];
      if (unknown.length === 0 || attempt === MAX_ATTEMPTS) throw error;
      for (const field of unknown) known = without(known, pathOf(field, known));
      dropped.push(...unknown);
    }
  }
}

/** Finds the fields in an error message of the server, for example `.spec.containers[name="c"].prots`. */
function unknownFields(message: string): string[] {
  return [...message.matchAll(/(?:^|\s)(\.\S.*?): field not declared in schema/gm)].map(
    ([, field]) => field!,
  );
}

/** Converts a field of an error message into a path in the object. */
function pathOf(field: string, object: KubeObject): Path {
  const path: string[] = [];
  for (const [, name, keys] of field.matchAll(/\.([^.[\]]+)|\[((?:[^\]"]|"(?:[^"\\]|\\.)*")*)\]/g)) {
    path.push(name ?? indexOf(keys ?? '', read(object, path)));
  }
  return path;
}

/** Returns the index of the entry with the given keys, for example `name="c"`, in a list of type `map`. */
function indexOf(keys: string, list: unknown): string {
  const wanted = [...keys.matchAll(/([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]+)/g)];
  if (wanted.length === 0 || !Array.isArray(list)) return keys;
  // The server adds default values of list keys, for example `protocol="TCP"` of a port. The manifest may omit them.
  const index = list.findIndex(
    (item) =>
      isJsonMap(item) &&
      wanted.every(([, key, value]) => item[key!] === undefined || JSON.stringify(item[key!]) === value),
  );
  return String(index);
}
