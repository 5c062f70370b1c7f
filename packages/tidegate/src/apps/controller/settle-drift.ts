import { ApiStatusError, type KubeClient, type KubeObject, type Resource } from '@tidegate/kube';
import { APPS_FIELD_MANAGER, type DriftedField, type DriftPolicy } from '../../api/index.ts';
import { read } from '../json.ts';
import { type Addition, additionsTo, removalOf, withoutDefaults } from './drift.ts';
import type { Drifting } from './drift-status.ts';

/** What became of the additions of other clients to one object. */
interface Settled extends Drifting {
  readonly object: KubeObject;
  /** Additions that were removed just now. */
  readonly reverted: readonly DriftedField[];
}

const AUTOSCALERS: Resource = {
  group: 'autoscaling',
  version: 'v1',
  resource: 'horizontalpodautoscalers',
  namespaced: true,
};

/**
 * Finds what other clients added to an object that was just applied, and removes it if the policy is Revert. With Report, the
 * removal is a dry run: it shows which fields are only defaults of the API server. Requests are sent only if another client
 * owns a field that the application does not.
 */
export async function settleDrift(
  client: KubeClient,
  resource: Resource,
  object: KubeObject,
  policy: DriftPolicy,
  signal: AbortSignal,
): Promise<Settled> {
  const none = { object, drift: [], reverted: [] };
  if (policy === 'Ignore') return none;
  const additions = await withoutScaling(client, object, additionsTo(object), signal);
  if (additions.length === 0) return none;
  try {
    const { name = '', namespace } = object.metadata;
    const after = await client.patch(
      resource,
      { name, ...(namespace !== undefined && { namespace }) },
      'json',
      removalOf(object, additions),
      { dryRun: policy === 'Report', fieldManager: APPS_FIELD_MANAGER, signal },
    );
    const fields = withoutDefaults(additions, object, after).map(fieldOf);
    if (policy === 'Report') return { object, drift: fields, reverted: [] };
    return { object: after, drift: [], reverted: fields };
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    // The object changed in between, or it would be invalid without the field. The watch reports a change.
    return {
      ...none,
      drift: additions.map(fieldOf),
      ...(policy === 'Revert' && { problem: error.message }),
    };
  }
}

const fieldOf = ({ field, manager }: Addition): DriftedField => ({ field, manager });

/** The replicas of a workload with an autoscaler are not drift: also a user can set them. */
async function withoutScaling(
  client: KubeClient,
  { kind, metadata: { name, namespace } }: KubeObject,
  additions: readonly Addition[],
  signal: AbortSignal,
): Promise<readonly Addition[]> {
  if (namespace === undefined || !additions.some(isReplicas)) return additions;
  const isTarget = (scaler: KubeObject): boolean =>
    read(scaler, ['spec', 'scaleTargetRef', 'kind']) === kind &&
    read(scaler, ['spec', 'scaleTargetRef', 'name']) === name;
  try {
    const { items } = await client.list(AUTOSCALERS, { namespace, signal });
    if (!items.some(isTarget)) return additions;
  } catch (error) {
    if (!(error instanceof ApiStatusError)) throw error;
    // Without permission to read autoscalers, there may be one.
  }
  return additions.filter((addition) => !isReplicas(addition));
}

const isReplicas = ({ field }: Addition): boolean => field === 'spec.replicas';
