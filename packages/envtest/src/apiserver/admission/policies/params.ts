/** The parameters of a binding: objects of the kind that the policy names. */
import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type { ParamKind, ParamRef } from '../../resources/policies/types.ts';
import { selectorMatches } from '../../resources/validation/selectors.ts';
import { decodeStored, readableOne } from '../../served/codec.ts';
import type { Registry, Served } from '../../served/registry.ts';
import type { Entry, Store } from '../../store/types.ts';
import { namespaceOf } from '../webhooks/review.ts';
import { PolicyFailure } from './compiled.ts';

export interface ParamSource {
  store: Store;
  registry: Registry;
}

/** One evaluation for each object. A policy without parameters, or a binding that names none, is evaluated once. */
export async function paramsOf(
  { store, registry }: ParamSource,
  kind: ParamKind | undefined,
  ref: ParamRef | undefined,
  attributes: AdmissionAttributes,
): Promise<(KubeObject | null)[]> {
  if (kind === undefined || ref === undefined) return [null];
  const served = servedAs(registry, kind);
  const namespace = namespaceFor(served, ref, attributes);
  const { name = '', selector } = ref;
  const resource = served.definition.storage;
  const entries: Entry[] =
    name === ''
      ? store.list(resource, { namespace }).entries
      : [store.get({ resource, namespace: namespace ?? '', name }) ?? []].flat();
  const found = entries
    .map((entry) => decodeStored(entry))
    .filter(({ metadata }) => selector === undefined || selectorMatches(selector, metadata.labels));
  if (found.length === 0 && ref.parameterNotFoundAction === 'Deny') {
    throw new PolicyFailure('no params found for policy binding with `Deny` parameterNotFoundAction');
  }
  return Promise.all(found.map((object) => readableOne(served, object)));
}

function servedAs(registry: Registry, { apiVersion = '', kind = '' }: ParamKind): Served {
  const { group, version } = parseApiVersion(apiVersion);
  const definition = registry.byKind(group, kind);
  const served = definition?.versions.find(({ name }) => name === version);
  if (definition === undefined || served === undefined) {
    throw new PolicyFailure(`failed to find resource referenced by paramKind: '${apiVersion}, Kind=${kind}'`);
  }
  return { definition, version: served };
}

/** Undefined for kinds that are not in namespaces. By default, parameters are in the namespace of the request. */
function namespaceFor(
  { definition }: Served,
  { namespace = '' }: ParamRef,
  attributes: AdmissionAttributes,
): string | undefined {
  if (!definition.namespaced) {
    if (namespace === '') return undefined;
    throw new PolicyFailure('paramRef.namespace must not be provided for a cluster-scoped `paramKind`');
  }
  const used = namespace || namespaceOf(attributes);
  if (used !== '') return used;
  throw new PolicyFailure(
    'cannot use namespaced paramRef in policy binding that matches cluster-scoped resources',
  );
}
