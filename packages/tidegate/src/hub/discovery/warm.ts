import { contentOf, type Document } from './document.ts';
import type { Documents } from './documents.ts';
import { aggregatedVersions, groupVersionPaths } from './group-versions.ts';

/**
 * Requests a document from an API server with the credentials of the node, and stores it. Resolves to
 * undefined if the API server returns another status than 200.
 */
export type Refresh = (path: string, accept: string) => Promise<Document | undefined>;

const JSON_TYPE = 'application/json';
const AGGREGATED = `${JSON_TYPE};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,${JSON_TYPE}`;

/**
 * Fetches the documents that clients need before they can do anything else, so that they are there when the
 * link is down.
 *
 * To save bandwidth, it first fetches the two aggregated documents (KEP-3352), compares them with the stored
 * ones, and then requests only the group versions that changed. From a server without aggregated discovery,
 * it requests every document.
 */
export async function warm(documents: Documents, refresh: Refresh): Promise<void> {
  await refresh('/version', JSON_TYPE);
  const changed = new Set<string>();
  const aggregated = new Set<string>();
  for (const root of ['/api', '/apis']) {
    const before = aggregatedVersions(root, await parse(await documents.find(root, AGGREGATED)));
    const now = aggregatedVersions(root, await parse(await refresh(root, AGGREGATED)));
    for (const [path, version] of now) {
      aggregated.add(path);
      if (before.get(path) !== version) changed.add(path);
    }
    // A removed group version: the root document, which lists the group versions, has changed.
    if ([...before.keys()].some((path) => !now.has(path))) changed.add(root);
  }
  const isCurrent = (path: string): boolean =>
    aggregated.has(path) && !changed.has(path) && documents.has(path, JSON_TYPE);
  const fetched = async (path: string, current: boolean): Promise<unknown> =>
    parse(current ? await documents.find(path, JSON_TYPE) : await refresh(path, JSON_TYPE));

  const rootsCurrent = changed.size === 0 && aggregated.size > 0;
  const api = await fetched('/api', rootsCurrent && documents.has('/api', JSON_TYPE));
  const apis = await fetched('/apis', rootsCurrent && documents.has('/apis', JSON_TYPE));
  const paths = groupVersionPaths(api, apis);
  for (const path of paths) if (!isCurrent(path)) await refresh(path, JSON_TYPE);
  if (paths.length > 0) forgetOthers(documents, paths);
}

/** Deletes the documents of group versions that the server no longer has. */
function forgetOthers(documents: Documents, paths: string[]): void {
  const present = new Set(paths);
  for (const path of documents.paths()) {
    if (/^\/(api\/[^/]+|apis\/[^/]+\/[^/]+)$/.test(path) && !present.has(path)) documents.remove(path);
  }
}

async function parse(document: Document | undefined): Promise<unknown> {
  if (document === undefined) return undefined;
  try {
    return JSON.parse((await contentOf(document)).toString('utf8'));
  } catch {
    return undefined; // Not JSON: there is nothing to compare.
  }
}
