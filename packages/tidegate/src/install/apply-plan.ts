/** Carries a plan out, in order. Every step can be repeated, so an installation that was broken off continues where it was. */
import {
  Applier,
  type Clock,
  isNotFound,
  type KubeClient,
  type KubeObject,
  parseApiVersion,
  type Resource,
  sleep,
  UnknownKindError,
} from '@tidegate/kube';
import { lacksAuthority, untilAuthority, withAuthority } from './authority.ts';
import {
  FIELD_MANAGER,
  type Inventory,
  identityOf,
  nameOf,
  type ObjectName,
  textOf,
  writeInventory,
} from './inventory.ts';
import type { Plan, Step } from './plan.ts';
import type { Values } from './set-values.ts';

export interface ApplyOptions {
  namespace: string;
  version: string;
  values: Values;
  inventory: Inventory | undefined;
  /** How long the manager gets to create what the installation copies from it. */
  timeoutMs: number;
  clock: Clock;
  signal: AbortSignal;
  onStep(text: string): void;
}

const POLL_MS = 200;

export async function applyPlan(client: KubeClient, plan: Plan, options: ApplyOptions): Promise<Inventory> {
  const { namespace, version, inventory: before, signal, onStep } = options;
  const objects = plan.steps.map(({ object }) => nameOf(object));
  const inventory: Inventory = {
    namespace,
    version: before?.version ?? version,
    changingTo: version,
    values: options.values,
    objects: unique([...objects, ...(before?.objects ?? [])]),
    createdNamespaces: createdNamespaces(plan, options),
  };
  const isHome = ({ object }: Step): boolean =>
    object.kind === 'Namespace' && object.metadata.name === namespace;
  const [home, others] = [plan.steps.filter(isHome), plan.steps.filter((step) => !isHome(step))];
  for (const step of home) await applyStep(client, step, options);
  await writeInventory(client, inventory, signal);
  for (const step of others)
    await applyStep(client, plan.writesAuthority ? await complete(client, step, options) : step, options);
  for (const name of plan.removals) {
    onStep(`deleting ${textOf(name)}, which this version does not have`);
    await deleteNamed(client, name, signal);
  }
  const done = { ...inventory, version, changingTo: undefined, objects };
  await writeInventory(client, done, signal);
  return done;
}

/**
 * The record is in the namespace of the manager, so it cannot be written before that namespace exists. If the command was killed
 * in between, the namespace has been written by no other program. The record names the other namespaces before they
 * exist; if it was killed in between and a user has created one of them since then, it lacks the labels.
 */
export function createdNamespaces(
  { steps }: Pick<Plan, 'steps'>,
  { namespace, inventory: before }: Pick<ApplyOptions, 'namespace' | 'inventory'>,
): string[] {
  const isInterrupted = before?.changingTo !== undefined;
  const created = new Set(before?.createdNamespaces ?? []);
  for (const { object, action, isOwn } of steps) {
    const { kind, metadata } = object;
    const name = metadata.name ?? '';
    if (kind !== 'Namespace') continue;
    if (action === 'create') created.add(name);
    if (action === 'change' && isInterrupted && !isOwn) created.delete(name);
    if (isOwn && before === undefined && name === namespace) created.add(name);
  }
  return [...created];
}

/** The step with the CA bundle, which did not exist yet when the installation was planned. */
async function complete(client: KubeClient, step: Step, options: ApplyOptions): Promise<Step> {
  if (!lacksAuthority(step.object)) return step;
  return { ...step, object: withAuthority(step.object, await untilAuthority(client, options)) };
}

async function applyStep(
  client: KubeClient,
  { object, action }: Step,
  { clock, signal, onStep }: ApplyOptions,
): Promise<void> {
  if (action === 'keep') return;
  onStep(`${action === 'create' ? 'creating' : 'changing'} ${textOf(nameOf(object))}`);
  // Looked up again: a definition may have brought the kind meanwhile.
  const resource = await client.discovery.forObject(object);
  let applied = await new Applier(client, FIELD_MANAGER).apply(object, { resource, signal });
  while (object.kind === 'CustomResourceDefinition' && !isEstablished(applied)) {
    await sleep(clock, POLL_MS, signal);
    applied = await client.get(resource, { name: object.metadata.name ?? '' }, { signal });
  }
}

function isEstablished({ status }: KubeObject): boolean {
  const { conditions } = (status ?? {}) as { conditions?: { type: string; status: string }[] | null };
  return (conditions ?? []).some(({ type, status }) => type === 'Established' && status === 'True');
}

/** Deletes an object. Returns false if it does not exist, also because its kind does not. */
export async function deleteNamed(
  client: KubeClient,
  { apiVersion, kind, namespace, name }: ObjectName,
  signal?: AbortSignal,
): Promise<boolean> {
  const resource = await servedAs(client, { apiVersion, kind });
  if (resource === undefined) return false;
  try {
    await client.delete(resource, { name, namespace }, { propagationPolicy: 'Background', signal });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** The resource of a kind, in another version if the API server does not serve this one (any more). */
export async function servedAs(
  client: KubeClient,
  { apiVersion, kind }: Pick<ObjectName, 'apiVersion' | 'kind'>,
): Promise<Resource | undefined> {
  const { group } = parseApiVersion(apiVersion);
  try {
    return await client.discovery.forObject({ apiVersion, kind, metadata: {} });
  } catch (error) {
    if (!(error instanceof UnknownKindError)) throw error;
    return (await client.discovery.resources()).find((each) => each.group === group && each.kind === kind);
  }
}

const unique = (names: readonly ObjectName[]): ObjectName[] => [
  ...new Map(names.map((name) => [identityOf(name), name])).values(),
];
