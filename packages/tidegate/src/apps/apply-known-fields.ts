import {
  ApiStatusError,
  type Applier,
  type CallOptions,
  isJsonMap,
  type KubeObject,
  type Resource,
} from '@tidegate/kube';
import { type Path, read, without } from './json.ts';

export interface Applied {
  /** As it is on the server now. */
  readonly object: KubeObject;
  /** Fields that the server does not know. */
  readonly dropped: readonly string[];
}

/** One more would mean that dropping fields does not help. */
const MOST_ATTEMPTS = 10;

/**
 * Server-side apply, without the fields that the kind does not have. `kubectl create` only warns of them, but a server
 * refuses to apply them, and manifests in the wild have them: KubeEdge's own example does.
 */
export async function applyKnownFields(
  applier: Applier,
  resource: Resource,
  object: KubeObject,
  options: CallOptions & { dryRun?: boolean } = {},
): Promise<Applied> {
  let known = object;
  const dropped: string[] = [];
  for (let attempt = 1; ; attempt++) {
    try {
      return { object: await applier.apply(known, { ...options, resource }), dropped };
    } catch (error) {
      const unknown = error instanceof ApiStatusError ? unknownFields(error.message) : [];
      if (unknown.length === 0 || attempt === MOST_ATTEMPTS) throw error;
      for (const field of unknown) known = without(known, pathOf(field, known));
      dropped.push(...unknown);
    }
  }
}

/** `.spec.template.spec.ports`, `.spec.containers[name="c"].prots`: from the server's complaint. */
function unknownFields(message: string): string[] {
  return [...message.matchAll(/(?:^|\s)(\.\S.*?): field not declared in schema/gm)].map(
    ([, field]) => field!,
  );
}

function pathOf(field: string, object: KubeObject): Path {
  const path: string[] = [];
  for (const [, name, keys] of field.matchAll(/\.([^.[\]]+)|\[((?:[^\]"]|"(?:[^"\\]|\\.)*")*)\]/g)) {
    path.push(name ?? indexOf(keys ?? '', read(object, path)));
  }
  return path;
}

/** The place of `name="c"` in a list whose entries are told apart by keys. */
function indexOf(keys: string, list: unknown): string {
  const wanted = [...keys.matchAll(/([^=,]+)=("(?:[^"\\]|\\.)*"|[^,]+)/g)];
  if (wanted.length === 0 || !Array.isArray(list)) return keys;
  // A key that has its default is not always written down.
  const index = list.findIndex(
    (item) =>
      isJsonMap(item) &&
      wanted.every(([, key, value]) => item[key!] === undefined || JSON.stringify(item[key!]) === value),
  );
  return String(index);
}
