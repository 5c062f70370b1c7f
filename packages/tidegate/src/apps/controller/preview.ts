import {
  ApiStatusError,
  Applier,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Resource,
} from '@tidegate/kube';
import {
  APPS_FIELD_MANAGER,
  EDGE_APPLICATIONS,
  type EdgeApplication,
  NODE_GROUPS,
  NODE_POOLS,
  type ResourceIdentifier,
} from '../../api/index.ts';
import { applyKnownFields } from '../apply-known-fields.ts';
import { render } from '../render/render.ts';
import { type KindOfPool, targetsOf } from '../render/targets.ts';
import { distinctErrors } from '../validate.ts';
import { identifierOf } from './apply-object.ts';
import { inApplyOrder } from './apply-order.ts';
import { Kinds } from './kinds.ts';
import { isCreatedBy, isOwnedBy, refusal, withOwner } from './ownership.ts';
import { reasonToKeep, recordedObjects, resourceOf } from './recorded-objects.ts';
import { identityOfIdentifier, nameOf } from './status.ts';

/** One object before and after the change. `before` is absent if it would be created, `after` if it would be deleted. */
export interface PreviewedChange {
  readonly identifier: ResourceIdentifier;
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
  const { targets, missing, errors: targetErrors } = targetsOf(application, await kindsOfPools(client));
  const { objects, errors: renderErrors } = render(application, targets, kinds.scopeOf);
  const errors = distinctErrors([...targetErrors, ...renderErrors]);
  const problems = [
    ...errors.map(({ path, message }) => `${path}: ${message}`),
    ...missing.map(({ path, pool }) => `${path}: there is no NodeGroup or NodePool ${pool}`),
  ];
  const changes: PreviewedChange[] = [];
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
      changes.push({ identifier, ...(before && { before }), after });
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
      changes.push({ identifier, before });
  }
  return { changes, problems };
}

async function kindsOfPools(client: KubeClient): Promise<KindOfPool> {
  const [groups, pools] = await Promise.all([client.list(NODE_GROUPS), client.list(NODE_POOLS)]);
  const isIn = (items: readonly KubeObject[], name: string): boolean =>
    items.some(({ metadata }) => metadata.name === name);
  return (name) => {
    if (isIn(groups.items, name)) return 'NodeGroup';
    return isIn(pools.items, name) ? 'NodePool' : undefined;
  };
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
