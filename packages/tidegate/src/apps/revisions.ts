/**
 * Revisions of an application: a ControllerRevision for each content that its template had, as for a StatefulSet. A content that
 * comes back gets the highest number again, so the order of the numbers is the order in which the contents were current.
 *
 * The name of a revision contains a hash of its content (`revision-name.ts`), and the status of an application has the names. So a
 * user that may create ControllerRevisions cannot change what the manager deploys: a revision with another content than its name
 * says is not a revision of the application.
 */
import {
  CONTROLLER_REVISIONS,
  type ControllerRevision,
  isAlreadyExists,
  isNotFound,
  type KubeClient,
  type KubeObject,
  keyOf,
  type OwnerReference,
} from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL } from '../api/index.ts';
import { hasNameOfContent, MOST_COLLISIONS, RevisionNames } from './revision-name.ts';

/** Whose revisions these are. */
export interface RevisionOwner {
  readonly object: KubeObject;
  readonly reference: OwnerReference;
  /** The value of the label with which the revisions are found: the name of the EdgeApplication. */
  readonly application: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** How many old revisions are kept. */
  readonly limit: number;
  /** Names of revisions that are in use. */
  readonly keep?: ReadonlySet<string | undefined>;
}

export interface CurrentRevision {
  readonly name: string;
  readonly number: number;
  /** How many names were in use for other contents. */
  readonly collisions: number;
}

/** The revisions of the owner, oldest first. Those of others that only have its labels and its owner reference are left out. */
export async function revisionsOf(
  client: KubeClient,
  { object, application }: Pick<RevisionOwner, 'object' | 'application'>,
  signal?: AbortSignal,
): Promise<ControllerRevision[]> {
  const { items } = await client.list(CONTROLLER_REVISIONS, {
    namespace: `${object.metadata.namespace}`,
    labelSelector: `${EDGE_APPLICATION_LABEL}=${application}`,
    ...(signal && { signal }),
  });
  return items
    .filter(({ metadata }) => metadata.ownerReferences?.some(({ uid }) => uid === object.metadata.uid))
    .filter((revision) => hasNameOfContent(object, revision))
    .toSorted((a, b) => a.revision - b.revision);
}

/** Makes the content the current revision, and deletes the oldest ones beyond the limit. */
export async function recordRevision(
  client: KubeClient,
  owner: RevisionOwner,
  data: object,
  signal: AbortSignal,
): Promise<CurrentRevision> {
  const all = await revisionsOf(client, owner, signal);
  const last = all.at(-1);
  const names = new RevisionNames(owner.object, data);
  const equal = all.findLast(({ metadata }) => names.has(metadata.name));
  const current = await currentOf(client, owner, { data, names, last, equal }, signal);
  const old = all.filter(({ metadata }) => metadata.name !== current.name && !owner.keep?.has(metadata.name));
  for (const { metadata } of old.slice(0, Math.max(0, old.length - owner.limit)))
    await client
      .delete(
        CONTROLLER_REVISIONS,
        { name: `${metadata.name}`, namespace: `${metadata.namespace}` },
        { signal },
      )
      .catch(ignoreNotFound);
  return current;
}

async function currentOf(
  client: KubeClient,
  owner: RevisionOwner,
  {
    data,
    names,
    last,
    equal,
  }: { data: object; names: RevisionNames; last?: ControllerRevision; equal?: ControllerRevision },
  signal: AbortSignal,
): Promise<CurrentRevision> {
  const number = (last?.revision ?? 0) + 1;
  if (equal !== undefined) {
    const name = `${equal.metadata.name}`;
    if (equal === last) return { name, number: equal.revision, collisions: 0 };
    const target = { name, namespace: `${equal.metadata.namespace}` };
    await client.patch(CONTROLLER_REVISIONS, target, 'merge', { revision: number }, { signal });
    return { name, number, collisions: 0 };
  }
  for (let collisions = 0; collisions < MOST_COLLISIONS; collisions++) {
    const revision = newRevision(owner, names.at(collisions), data, number);
    try {
      const { metadata } = await client.create(CONTROLLER_REVISIONS, revision, { signal });
      return { name: `${metadata.name}`, number, collisions };
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  throw new Error(
    `the names of ${MOST_COLLISIONS} ControllerRevisions for ${keyOf(owner.object)} are in use by other objects: delete them`,
  );
}

function newRevision(
  { object, reference, application, labels }: RevisionOwner,
  name: string,
  data: object,
  revision: number,
): ControllerRevision {
  return {
    apiVersion: 'apps/v1',
    kind: 'ControllerRevision',
    metadata: {
      name,
      namespace: `${object.metadata.namespace}`,
      labels: { ...labels, [EDGE_APPLICATION_LABEL]: application },
      ownerReferences: [reference],
    },
    data,
    revision,
  };
}

function ignoreNotFound(error: unknown): void {
  if (!isNotFound(error)) throw error;
}
