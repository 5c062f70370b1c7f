import {
  isInvalid,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type LabelMatcher,
  PODS,
  type Pod,
  type Resource,
} from '@tidegate/kube';
import { controllerOf, controllerReference } from './owners.ts';
import { isActive } from './state.ts';

/** Options of {@link claim}. */
export interface ClaimOptions<T extends KubeObject> {
  client: KubeClient;
  owner: KubeObject;
  ownerResource: Resource;
  selector: LabelMatcher;
  /** The result of `claimable`. */
  candidates: readonly T[];
  signal: AbortSignal;
}

/**
 * Returns the pods that `owner` controls and that match its selector. Matching orphans are adopted unless they are
 * finished or terminating; pods that no longer match are released.
 */
export const claimPods = (options: ClaimOptions<Pod>): Promise<Pod[]> =>
  claim({ ...options, resource: PODS, mayAdopt: isActive });

/** The same for objects of any kind. */
export async function claim<T extends KubeObject>(
  options: ClaimOptions<T> & { resource: Resource<T>; mayAdopt?: (orphan: T) => boolean },
): Promise<T[]> {
  const { owner, selector, candidates, mayAdopt = () => true } = options;
  const claimed: T[] = [];
  const orphans: T[] = [];
  const strays: T[] = [];
  for (const object of candidates) {
    const controller = controllerOf(object);
    const matches = selector.matches(object.metadata.labels);
    if (controller === undefined) {
      if (matches && !isDeleted(object) && mayAdopt(object)) orphans.push(object);
    } else if (controller.uid === owner.metadata.uid) (matches ? claimed : strays).push(object);
  }
  // When the owner is being deleted, its dependents belong to the garbage collector.
  if (isDeleted(owner) || (orphans.length === 0 && strays.length === 0)) return claimed;
  if (orphans.length > 0) await assertStillThere(options);
  const changes = await Promise.allSettled([
    ...orphans.map((orphan) => adopt(options, orphan)),
    ...strays.map((stray) => release(options, stray)),
  ]);
  const failed = changes.find((change) => change.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  for (const { value } of changes as PromiseFulfilledResult<T | undefined>[]) {
    if (value !== undefined) claimed.push(value);
  }
  return claimed;
}

type Write<T extends KubeObject> = ClaimOptions<T> & { resource: Resource<T> };

/** The cache may still show an owner that has been deleted. An object that it adopted would be deleted with it. */
async function assertStillThere<T extends KubeObject>(options: Write<T>): Promise<void> {
  const { client, owner, ownerResource, signal } = options;
  const { namespace, name = '', uid } = owner.metadata;
  const fresh = await client.get(ownerResource, { namespace, name }, { signal });
  if (fresh.metadata.uid !== uid) {
    throw new Error(
      `original ${owner.kind} ${namespace}/${name} is gone: got uid ${fresh.metadata.uid}, wanted ${uid}`,
    );
  }
  if (isDeleted(fresh)) {
    throw new Error(
      `can't adopt for ${owner.kind} ${namespace}/${name}: it has been deleted at ${fresh.metadata.deletionTimestamp}`,
    );
  }
}

/** Makes the owner the controller of an orphan. */
async function adopt<T extends KubeObject>(options: Write<T>, orphan: T): Promise<T | undefined> {
  return patchOwners(options, orphan, controllerReference(options.owner));
}

/** Removes the owner reference, so that another controller may adopt the object. It is not deleted. */
async function release<T extends KubeObject>(options: Write<T>, stray: T): Promise<undefined> {
  await patchOwners(options, stray, { $patch: 'delete', uid: options.owner.metadata.uid });
}

/** The uid is a precondition: a new object with the same name must not be changed. */
async function patchOwners<T extends KubeObject>(
  { client, resource, signal }: Write<T>,
  object: T,
  reference: object,
): Promise<T | undefined> {
  const { namespace, name = '', uid } = object.metadata;
  const patch = { metadata: { uid, ownerReferences: [reference] } };
  try {
    return await client.patch(resource, { namespace, name }, 'strategic', patch, { signal });
  } catch (error) {
    // The object is gone or has been replaced; in both cases it no longer belongs to this owner.
    if (isNotFound(error) || isInvalid(error)) return undefined;
    throw error;
  }
}

const isDeleted = ({ metadata }: KubeObject): boolean => metadata.deletionTimestamp !== undefined;
