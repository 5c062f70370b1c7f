/**
 * What an installation would change, found out without changing anything: every object is sent to the API server as a dry
 * run. So the API server also says what it would refuse.
 */
import {
  ApiStatusError,
  isConflict,
  isJsonMap,
  isNamespaceTerminating,
  isNotFound,
  isUnknownField,
  jsonEqual,
  type KubeClient,
  type KubeObject,
  NAMESPACES,
  type Resource,
  UnknownKindError,
  withoutField,
} from '@tidegate/kube';
import { SCHEMA_RULES } from './adapt.ts';
import { FIELD_MANAGER, type Inventory, identityOf, nameOf, type ObjectName, textOf } from './inventory.ts';

export interface Step {
  object: KubeObject;
  resource: Resource | undefined;
  action: 'create' | 'change' | 'keep';
  /** Paths of the fields that change. */
  fields: readonly string[];
  /** Whether the object exists and no other program has written it, so that an installation has created it. */
  isOwn?: boolean;
}

export interface Plan {
  steps: readonly Step[];
  /** Objects of the installed version that no longer exist in this one. */
  removals: readonly ObjectName[];
  /** Why the installation cannot start. */
  problems: readonly string[];
  /** Whether the installation itself writes the CA bundle of the webhooks (authority.ts). */
  writesAuthority: boolean;
}

export interface PlanOptions {
  writesAuthority: boolean;
  /** Take over fields that others have changed. */
  force: boolean;
  signal?: AbortSignal;
}

const AT_ONCE = 8;

/** `objects` are in the order of creation. */
export async function planChanges(
  client: KubeClient,
  objects: readonly KubeObject[],
  inventory: Inventory | undefined,
  options: PlanOptions,
): Promise<Plan> {
  const problems: string[] = [];
  const steps: Step[] = [];
  const willExist = new Set(objects.filter(({ kind }) => kind === 'Namespace').map((o) => o.metadata.name));
  // The lookup of one object does not depend on another; a few at a time take less time than one after the other.
  for (let next = 0; next < objects.length; next += AT_ONCE) {
    const some = objects.slice(next, next + AT_ONCE);
    const outcomes = await Promise.all(some.map((each) => planObject(client, each, willExist, options)));
    for (const outcome of outcomes)
      if (typeof outcome === 'string') problems.push(outcome);
      else steps.push(outcome);
  }
  const names = new Set(objects.map((object) => identityOf(nameOf(object))));
  const removals = (inventory?.objects ?? []).filter((name) => !names.has(identityOf(name)));
  return { steps, removals, problems, writesAuthority: options.writesAuthority };
}

/** The step for one object, or why it is impossible. */
async function planObject(
  client: KubeClient,
  object: KubeObject,
  namespaces: ReadonlySet<string | undefined>,
  options: PlanOptions,
): Promise<Step | string> {
  const { force, signal } = options;
  const name = textOf(nameOf(object));
  try {
    const resource = await client.discovery.forObject(object);
    const target = { name: object.metadata.name ?? '', namespace: object.metadata.namespace };
    const read = (): Promise<KubeObject | undefined> =>
      client.get(resource, target, { signal }).catch((error: unknown) => {
        if (isNotFound(error)) return undefined;
        throw error;
      });
    const live = await read();
    if (live === undefined && namespaces.has(target.namespace) && !(await namespaceExists(client, target)))
      return { object, resource, action: 'create', fields: [] };
    const wanted = live === undefined ? object : withConditionsOf(object, live);
    const result = await client.patch(resource, target, 'apply', wanted, {
      fieldManager: FIELD_MANAGER,
      dryRun: true,
      force,
      signal,
    });
    if (live === undefined) return { object, resource, action: 'create', fields: [] };
    const fields = changedFields(bare(live), bare(result));
    // Another program has written it between the two requests, for example the leader its lease: look again.
    if (fields.length > 0 && (await read())?.metadata.resourceVersion !== live.metadata.resourceVersion)
      return planObject(client, object, namespaces, options);
    const action = fields.length === 0 ? 'keep' : 'change';
    return { object: wanted, resource, action, fields, isOwn: isOwn(live) };
  } catch (error) {
    if (isUnknownField(error, SCHEMA_RULES))
      return planObject(client, withoutField(object, SCHEMA_RULES), namespaces, options);
    if (error instanceof UnknownKindError)
      return `${name}: ${error.message}. Install what provides it first, or leave the object out with --set`;
    // The namespace is named once (refusals.ts), not with every object in it.
    if (isNamespaceTerminating(error)) return { object, resource: undefined, action: 'create', fields: [] };
    if (isConflict(error))
      return `${name}: ${(error as Error).message.split('\n').join(' ')}. Use --force-conflicts to overwrite these fields`;
    if (error instanceof ApiStatusError && error.code < 500) return `${name}: ${error.message}`;
    throw error;
  }
}

/** The API server records what an object that another program has created had before the first apply. */
const isOwn = ({ metadata: { managedFields = [] } }: KubeObject): boolean =>
  managedFields.length > 0 && managedFields.every(({ manager }) => manager === FIELD_MANAGER);

interface Webhooks extends KubeObject {
  webhooks?: { name: string; matchConditions?: unknown }[];
}

/** The conditions of webhooks depend on the classes and pools of the cluster: the manager maintains them. */
function withConditionsOf(object: Webhooks, live: Webhooks): KubeObject {
  if (object.webhooks === undefined) return object;
  const webhooks = object.webhooks.map(({ matchConditions, ...webhook }) => {
    const found = live.webhooks?.find(({ name }) => name === webhook.name);
    const conditions = found === undefined ? matchConditions : found.matchConditions;
    return conditions === undefined ? webhook : { ...webhook, matchConditions: conditions };
  });
  return { ...object, webhooks } as KubeObject;
}

const namespaceExists = (client: KubeClient, { namespace }: { namespace?: string }): Promise<boolean> =>
  client.get(NAMESPACES, { name: namespace ?? '' }).then(
    () => true,
    (error: unknown) => {
      if (isNotFound(error)) return false;
      throw error;
    },
  );

/** The object without what the API server and controllers maintain. */
function bare({ status: _, ...object }: KubeObject): object {
  const { managedFields, resourceVersion, generation, uid, creationTimestamp, ...metadata } = object.metadata;
  return { ...object, metadata };
}

/** Paths of the fields that differ. A field whose parent is new or gone is not listed itself. */
export function changedFields(before: unknown, after: unknown, path = ''): string[] {
  if (jsonEqual(before, after)) return [];
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((item, index) => changedFields(item, after[index], `${path}[${index}]`));
  if (!isJsonMap(before) || !isJsonMap(after)) return [path];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap((key) =>
    changedFields(before[key], after[key], path === '' ? key : `${path}.${key}`),
  );
}
