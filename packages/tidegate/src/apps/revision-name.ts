/** The names of revisions. A name is proof of the content: it contains a hash of it, and of the UID of the application. */
import { createHash } from 'node:crypto';
import { type ControllerRevision, isJsonMap, type KubeObject, measureJson } from '@tidegate/kube';

/** Names that are in use for other contents are rare. More than this is a mistake. */
export const MOST_COLLISIONS = 10;
/** 160 bits: to find another content with the same name takes 2^80 attempts, even for a user that chooses both. */
const HASH_LENGTH = 40;
const MAX_NAME_LENGTH = 253;

type Named = Pick<KubeObject, 'metadata'>;

/** The names that a revision of this application with this content can have: another one for each name that is in use. */
export class RevisionNames {
  readonly #owner: Named;
  readonly #digest: string;

  constructor(owner: Named, data: unknown) {
    this.#owner = owner;
    this.#digest = hashOf(sortedJson(data));
  }

  at(collisions: number): string {
    const { name, uid } = this.#owner.metadata;
    const hash = hashOf(JSON.stringify([this.#digest, uid, collisions])).slice(0, HASH_LENGTH);
    return `${`${name}`.slice(0, MAX_NAME_LENGTH - HASH_LENGTH - 1)}-${hash}`;
  }

  has(name: string | undefined): boolean {
    for (let collisions = 0; collisions < MOST_COLLISIONS; collisions++)
      if (this.at(collisions) === name) return true;
    return false;
  }
}

/** Whether the revision has the content with which the manager created a revision of this name. */
export function hasNameOfContent(owner: Named, { metadata, data }: ControllerRevision): boolean {
  // A user can have written it, so it is measured before it is walked.
  return typeof measureJson(data) === 'number' && new RevisionNames(owner, data).has(metadata.name);
}

const hashOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** The same text for equal values, whatever the order of their fields: API servers do not keep the order. */
function sortedJson(value: unknown): string {
  return JSON.stringify(value ?? null, (_, item: unknown) =>
    isJsonMap(item)
      ? Object.fromEntries(Object.entries(item).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : item,
  );
}
