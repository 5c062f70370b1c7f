import {
  ApiStatusError,
  Applier,
  isNotFound,
  type KubeClient,
  type KubeObject,
  NODES,
  type Resource,
} from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATIONS,
  EDITION_LABEL,
  type EdgeApplication,
  NODE_GROUPS,
  NODE_POOLS,
  type ResourceIdentifier,
} from '../../api/index.ts';
import { applyKnownFields } from '../apply-known-fields.ts';
import { render } from '../render/render.ts';
import { type KindOfPool, kindByAge, type NodesWith, targetsOf } from '../render/targets.ts';
import { nameOfWave, waveOf } from '../rollout/plan.ts';
import { hasLabelTargets, nodesIn } from '../target-nodes.ts';
import { distinctErrors } from '../validate.ts';
import { identifierOf } from './apply-object.ts';
import { inApplyOrder } from './apply-order.ts';
import { Kinds } from './kinds.ts';
import { nameOf } from './messages.ts';
import { isCreatedBy, isOwnedBy, refusal, withOwner } from './ownership.ts';
import { reasonToKeep, recordedObjects, resourceOf } from './recorded-objects.ts';
import { identityOfIdentifier } from './status.ts';

/** One object before and after the change. `before` is absent if it would be created, `after` if it would be deleted. */
export interface PreviewedChange {
  readonly identifier: ResourceIdentifier;
  /** The pool, or set of nodes, of the edition. Absent for objects that all sites share. */
  readonly site?: string;
  /** The wave in which the change reaches the site, if the application has a rollout. */
  readonly wave?: string;
  readonly before?: KubeObject;
  readonly after?: KubeObject;
}

/** The result of a preview. `changes` also contains objects that would not change. */
export interface Preview {
  readonly changes: readonly PreviewedChange[];
  /** Errors that applying the application would cause, as messages with fields. */
  readonly problems: readonly string[];
}

/**
 * Computes what applying an application would change, for `tidegate diff`. Uses a dry run of server-side apply, so
 * defaults and admission of the API server are included. Writes nothing.
 */
export async function preview(client: KubeClient, written: EdgeApplication): Promise<Preview> {
  const { namespace = 'default', name = '' } = written.metadata;
  const existing = await find(client, EDGE_APPLICATIONS, { namespace, name });
  const application: EdgeApplication = {
    ...written,
    metadata: { ...written.metadata, namespace, ...(existing && { uid: existing.metadata.uid }) },
    ...(existing?.status && { status: existing.status }),
  };
  const kinds = await Kinds.of(application, client.discovery);
  const {
    targets,
    missing,
    errors: targetErrors,
  } = targetsOf(application, await kindsOfPools(client), await nodesOf(client, application));
  const { objects, errors: renderErrors } = render(application, targets, kinds.scopeOf);
  const errors = distinctErrors([...targetErrors, ...renderErrors]);
  const problems = [
    ...errors.map(({ path, message }) => `${path}: ${message}`),
    ...missing.map(({ path, pool }) => `${path}: there is no NodeGroup or NodePool ${pool}`),
  ];
  const changes: PreviewedChange[] = [];
  const waves = await wavesOf(client, application);
  const placeOf = (site: string | undefined) => ({
    ...(site !== undefined && { site }),
    ...(site !== undefined && waves !== undefined && { wave: waves(site) }),
  });
  const recorded = recordedObjects(application);
  const applier = new Applier(client, APPS_FIELD_MANAGER);
  for (const rendered of inApplyOrder(objects)) {
    const resource = kinds.resourceOf(rendered.object)!;
    const identifier = identifierOf(rendered, resource);
    const known = recorded.get(identityOfIdentifier(identifier));
    recorded.delete(identityOfIdentifier(identifier));
    const before = await find(client, resource, rendered.object.metadata);
    if (before !== undefined && !isOwnedBy(before, application, known !== undefined)) {
      problems.push(`${nameOf(identifier)}: ${refusal(before, application)}`);
      continue;
    }
    const isOurs = before === undefined || isCreatedBy(before, known);
    const wanted =
      existing === undefined || !isOurs ? rendered.object : withOwner(rendered.object, application);
    try {
      const { object: after } = await applyKnownFields(applier, resource, wanted, { dryRun: true });
      changes.push({ identifier, ...placeOf(rendered.edition), ...(before && { before }), after });
    } catch (error) {
      if (!(error instanceof ApiStatusError)) throw error;
      problems.push(`${nameOf(identifier)}: ${error.message}`);
    }
  }
  const missingPools = new Set(missing.map(({ pool }) => pool));
  for (const entry of recorded.values()) {
    const { identifier } = entry;
    const before = await find(client, resourceOf(identifier), identifier);
    if (before === undefined || !isOwnedBy(before, application, true)) continue;
    if (!isCreatedBy(before, entry)) continue;
    if (reasonToKeep(before, errors.length > 0, missingPools) === undefined)
      changes.push({ identifier, ...placeOf(before.metadata.labels?.[EDITION_LABEL]), before });
  }
  return { changes, problems };
}

async function kindsOfPools(client: KubeClient): Promise<KindOfPool> {
  const [groups, pools] = await Promise.all([client.list(NODE_GROUPS), client.list(NODE_POOLS)]);
  const age = (items: readonly KubeObject[], name: string): string | undefined => {
    const found = items.find(({ metadata }) => metadata.name === name);
    return found && (found.metadata.creationTimestamp ?? '');
  };
  return (name, wanted) =>
    kindByAge({ NodeGroup: age(groups.items, name), NodePool: age(pools.items, name) }, wanted);
}

/** Names the wave of a site; undefined if the application has no rollout. */
async function wavesOf(
  client: KubeClient,
  { spec }: EdgeApplication,
): Promise<((site: string) => string) | undefined> {
  const { rollout } = spec;
  if (rollout === undefined) return undefined;
  const lists = await Promise.all([client.list(NODE_GROUPS), client.list(NODE_POOLS)]);
  const labels = new Map(
    lists.flatMap(({ items }) => items.map(({ metadata }) => [metadata.name, metadata.labels ?? {}])),
  );
  return (site) => nameOfWave(rollout, waveOf(rollout, { name: site, labels: labels.get(site) ?? {} }));
}

/** Nodes are read only if a target selects them by label. */
async function nodesOf(client: KubeClient, application: EdgeApplication): Promise<NodesWith> {
  const { items } = hasLabelTargets(application) ? await client.list(NODES) : { items: [] };
  return nodesIn(() => items);
}

async function find<T extends KubeObject>(
  client: KubeClient,
  resource: Resource<T>,
  { namespace, name = '' }: { namespace?: string; name?: string },
): Promise<T | undefined> {
  try {
    return await client.get(resource, { name, ...(namespace !== undefined && { namespace }) });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
