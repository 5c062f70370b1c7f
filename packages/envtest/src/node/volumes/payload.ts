import { VolumeError } from '../contracts.ts';

/** One file of a volume. */
export interface PayloadFile {
  data: Buffer;
  mode: number;
}

/** The files of a volume from the API, by their path in the volume. */
export type Payload = Map<string, PayloadFile>;

/** Selects a key of a ConfigMap or Secret and its path. */
export interface KeyToPath {
  key: string;
  path: string;
  mode?: number;
}

const DEFAULT_MODE = 0o644;

/** All keys, or those in `items`. `describe` gives the kubelet's message for a missing key. */
export function payloadOf(
  data: ReadonlyMap<string, Buffer>,
  items: readonly KeyToPath[] | undefined,
  { defaultMode = DEFAULT_MODE, optional = false }: { defaultMode?: number; optional?: boolean },
  describe: (key: string) => string,
): Payload {
  const chosen = items ?? [...data.keys()].map((key): KeyToPath => ({ key, path: key }));
  const payload: Payload = new Map();
  for (const { key, path, mode = defaultMode } of chosen) {
    const bytes = data.get(key);
    if (bytes !== undefined) payload.set(path, { data: bytes, mode });
    else if (!optional) throw new VolumeError(describe(key));
  }
  return payload;
}

/** Whether writing the payload again would change nothing. */
export function samePayload(a: Payload, b: Payload): boolean {
  if (a.size !== b.size) return false;
  for (const [path, file] of a) {
    const other = b.get(path);
    if (other === undefined || other.mode !== file.mode || !other.data.equals(file.data)) return false;
  }
  return true;
}
