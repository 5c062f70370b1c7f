import { createHash } from 'node:crypto';
import { type KubeClient, type KubeObject, keyOf } from '@tidegate/kube';
import type { EdgeApplication, EdgeApplicationSpec } from '../../api/index.ts';
import { recordRevision, revisionsOf } from '../revisions.ts';

/** How many old revisions of an EdgeApplication are kept, in addition to those that sites still have. */
const HISTORY_LIMIT = 10;

/** What a revision contains: everything but the rollout and the drift policy, which do not decide what runs. */
export type RevisionContent = Omit<EdgeApplicationSpec, 'rollout' | 'driftPolicy'>;

export const contentOf = ({ spec }: EdgeApplication): RevisionContent => {
  const { rollout: _, driftPolicy: __, ...content } = spec;
  return content;
};

/** How the revisions of an EdgeApplication are found. */
export const revisionOwnerOf = (application: EdgeApplication) => ({
  object: application as KubeObject,
  application: `${application.metadata.name}`,
});

interface Known {
  readonly uid: string | undefined;
  /** Of the content that was recorded last. */
  hash: string;
  current: string;
  readonly contents: Map<string, RevisionContent>;
}

/** The contents of revisions. They never change, so each is read once. */
export class RevisionContents {
  readonly #client: KubeClient;
  readonly #known = new Map<string, Known>();

  constructor(client: KubeClient) {
    this.#client = client;
  }

  forget(key: string): void {
    this.#known.delete(key);
  }

  /** Records the content of the application, and returns the name of its revision. Requests are sent only after a change. */
  async current(application: EdgeApplication, signal: AbortSignal): Promise<string> {
    const content = contentOf(application);
    const hash = createHash('sha256').update(JSON.stringify(content)).digest('base64');
    const { uid } = application.metadata;
    const key = keyOf(application as KubeObject);
    const known = this.#known.get(key);
    if (known?.uid === uid && known?.hash === hash) return known.current;
    const { stableRevision, revision, held = [] } = application.status?.rollout ?? {};
    const { apiVersion, kind, metadata } = application;
    const owner = {
      ...revisionOwnerOf(application),
      reference: {
        apiVersion,
        kind,
        name: `${metadata.name}`,
        uid: `${uid}`,
        controller: true,
        blockOwnerDeletion: true,
      },
      limit: HISTORY_LIMIT,
      keep: new Set([stableRevision, revision, ...held.map((site) => site.revision)]),
    };
    const { name } = await recordRevision(this.#client, owner, { spec: content }, signal);
    const contents = known?.uid === uid && known ? known.contents : new Map<string, RevisionContent>();
    contents.set(name, content);
    this.#known.set(key, { uid, hash, current: name, contents });
    return name;
  }

  /** The content of a revision, or undefined if a user has deleted it. */
  async of(
    application: EdgeApplication,
    name: string,
    signal: AbortSignal,
  ): Promise<RevisionContent | undefined> {
    const contents = this.#known.get(keyOf(application as KubeObject))?.contents;
    if (contents === undefined || contents.has(name)) return contents?.get(name);
    for (const revision of await revisionsOf(this.#client, revisionOwnerOf(application), signal))
      contents.set(`${revision.metadata.name}`, (revision.data as unknown as { spec: RevisionContent }).spec);
    return contents.get(name);
  }
}
