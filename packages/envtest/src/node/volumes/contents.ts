import type { ConfigMap, Pod } from '@tidegate/kube';
import type * as core from 'kubernetes-types/core/v1.d.ts';
import { VolumeError } from '../contracts.ts';
import { type Allocatable, fieldValue, resourceValue } from '../env/index.ts';
import type { Referenced, ReferencedKind, References } from '../references/index.ts';
import { type Payload, payloadOf } from './payload.ts';
import type { PodTokens } from './tokens.ts';

/** The sources of the contents of a pod's volumes. */
export interface ContentSources {
  pod: Pod;
  podIP: string;
  nodeIP: string;
  references: References;
  tokens: PodTokens;
  allocatable: Allocatable;
}

/** The files of a volume; undefined for a directory that the pod fills itself. */
export async function contentsOf(volume: core.Volume, sources: ContentSources): Promise<Payload | undefined> {
  const { name, emptyDir, configMap, secret, projected, downwardAPI, ...others } = volume;
  if (configMap !== undefined) return referenced('ConfigMap', configMap.name, configMap, sources);
  if (secret !== undefined) return referenced('Secret', secret.secretName, secret, sources);
  if (downwardAPI !== undefined) return downward(downwardAPI.items, downwardAPI.defaultMode, sources);
  if (projected !== undefined) return project(projected, sources);
  const [other] = Object.keys(others);
  if (emptyDir !== undefined || other === undefined) return undefined;
  throw new VolumeError(
    `${other} volumes are not supported: the pods of this cluster are processes of this machine; use emptyDir, configMap, secret, projected, downwardAPI or persistentVolumeClaim`,
  );
}

async function project(
  { sources: list = [], defaultMode }: core.ProjectedVolumeSource,
  sources: ContentSources,
): Promise<Payload> {
  const payload: Payload = new Map();
  for (const source of list) {
    for (const [path, file] of await projection(source, defaultMode, sources)) payload.set(path, file);
  }
  return payload;
}

async function projection(
  { configMap, secret, downwardAPI, serviceAccountToken, ...others }: core.VolumeProjection,
  defaultMode: number | undefined,
  sources: ContentSources,
): Promise<Payload> {
  if (configMap !== undefined)
    return referenced('ConfigMap', configMap.name, { ...configMap, defaultMode }, sources);
  if (secret !== undefined) return referenced('Secret', secret.name, { ...secret, defaultMode }, sources);
  if (downwardAPI !== undefined) return downward(downwardAPI.items, defaultMode, sources);
  if (serviceAccountToken === undefined) {
    throw new VolumeError(
      `projected volume sources of type ${Object.keys(others).join(', ')} are not supported in this cluster`,
    );
  }
  const token = await sources.tokens.get(sources.pod, serviceAccountToken);
  return new Map([[serviceAccountToken.path, { data: Buffer.from(token), mode: 0o600 }]]);
}

async function referenced(
  kind: ReferencedKind,
  name: string | undefined,
  options: Pick<core.ConfigMapVolumeSource, 'items' | 'defaultMode' | 'optional'>,
  { pod, references }: ContentSources,
): Promise<Payload> {
  const namespace = pod.metadata.namespace ?? '';
  const object = await references.get({ kind, namespace, name: name ?? '' });
  if (object === undefined && options.optional === true) return new Map();
  if (object === undefined) throw new VolumeError(`${kind.toLowerCase()} ${JSON.stringify(name)} not found`);
  const what = kind === 'Secret' ? 'secret' : 'config';
  return payloadOf(
    bytesOf(object),
    options.items,
    options,
    (key) => `references non-existent ${what} key: ${key}`,
  );
}

function bytesOf(object: Referenced): Map<string, Buffer> {
  const isSecret = object.kind === 'Secret';
  const binary = isSecret ? object.data : (object as ConfigMap).binaryData;
  const text = isSecret ? {} : (object.data ?? {});
  return new Map([
    ...Object.entries(text).map(([key, value]): [string, Buffer] => [key, Buffer.from(value)]),
    ...Object.entries(binary ?? {}).map(([key, value]): [string, Buffer] => [
      key,
      Buffer.from(value, 'base64'),
    ]),
  ]);
}

function downward(
  items: core.DownwardAPIVolumeFile[] = [],
  defaultMode: number | undefined,
  { pod, podIP, nodeIP, allocatable }: ContentSources,
): Payload {
  const files = new Map<string, Buffer>();
  for (const { path, fieldRef, resourceFieldRef } of items) {
    const container = pod.spec?.containers.find(({ name }) => name === resourceFieldRef?.containerName);
    const value =
      fieldRef === undefined
        ? container &&
          resourceValue(container, resourceFieldRef?.resource ?? '', resourceFieldRef?.divisor, allocatable)
        : fieldValue(pod, fieldRef.fieldPath, { podIP, nodeIP });
    if (value === undefined) {
      const field = fieldRef?.fieldPath ?? resourceFieldRef?.resource;
      throw new VolumeError(`the field ${field} for ${path} does not exist`);
    }
    files.set(path, Buffer.from(value));
  }
  const modes = items.map(({ path, mode }) => ({ key: path, path, mode }));
  return payloadOf(files, modes, { defaultMode }, (path) => `${path} has no contents`);
}
