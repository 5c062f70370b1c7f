import { isJsonMap, type KubeObject } from '@tidegate/kube';
import type { EdgeApplication, ResourceIdentifier } from '../../api/index.ts';
import { read } from '../json.ts';
import { nameIn } from '../render/names.ts';
import { longestName } from '../render/references.ts';
import type { RenderError } from '../render/result.ts';
import { kindOf } from '../render/scopes.ts';
import { workloadOf } from '../workloads.ts';
import type { Kinds } from './kinds.ts';
import type { Outcome } from './status.ts';

/** The status entries of manifests that could not be rendered. */
export const renderOutcomes = (
  application: EdgeApplication,
  errors: readonly RenderError[],
  kinds: Kinds,
): Outcome[] =>
  errors.flatMap(({ ordinal, edition, path, message }) =>
    ordinal === undefined
      ? []
      : [
          {
            identifier: identify(application, ordinal, edition, kinds),
            available: false,
            reason: 'RenderFailed',
            message: `${path}: ${message}`,
          },
        ],
  );

/** Identifies the object that would have been rendered, as far as its manifest allows. */
function identify(
  { metadata, spec }: EdgeApplication,
  ordinal: number,
  edition: string | undefined,
  kinds: Kinds,
): ResourceIdentifier {
  const manifest: unknown = spec.workloadTemplate?.manifests?.[ordinal];
  const { apiVersion, kind } = isJsonMap(manifest) ? manifest : {};
  if (typeof apiVersion !== 'string' || typeof kind !== 'string') return { ordinal };
  const object = manifest as KubeObject;
  const { group, version } = kindOf(object);
  const resource = kinds.resourceOf(object);
  const name = read(object, ['metadata', 'name']);
  if (typeof name !== 'string') return { ordinal, group, version, kind };
  const namespace =
    resource?.namespaced === false ? undefined : (object.metadata.namespace ?? metadata.namespace);
  const target = spec.workloadScope?.targetNodeGroups?.find((one) => one.name === edition);
  const names = workloadOf(object) === undefined ? {} : target?.workloadNames;
  return {
    ordinal,
    group,
    version,
    kind,
    ...(resource !== undefined && { resource: resource.resource }),
    ...(namespace !== undefined && { namespace }),
    name:
      edition === undefined ? name : nameIn({ edition, ...(names && { names }) }, name, longestName(object)),
  };
}
