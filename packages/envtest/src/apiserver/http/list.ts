import type { KubeObject, ListMeta } from '@tidegate/kube';
import {
  ApiError,
  continueTooOld,
  type Exchange,
  type ListOptions,
  listOptions,
  listTooOld,
  partialMetadata,
  tooLargeResourceVersion,
} from '@tidegate/serving';
import { decodeStored, listItem, readable } from '../served/codec.ts';
import { computedList } from '../served/computed.ts';
import { type Served, servedApiVersion } from '../served/registry.ts';
import { parseSelection } from '../served/selection.ts';
import { includeObject, toTable } from '../served/table.ts';
import { CompactedError, type Entry, FutureRevisionError, type Store } from '../store/types.ts';
import { type ContinueToken, encodeContinue, parseContinue } from './continue-token.ts';
import type { Shown } from './representation.ts';
import { type List, sendList, sendObject } from './send.ts';

export interface ListRequest {
  served: Served;
  /** '' for all namespaces. */
  namespace: string;
  query: URLSearchParams;
  representation: Shown;
}

interface Page {
  entries: Entry[];
  metadata: ListMeta;
}

/** Serves a list. The common case, JSON without conversion, concatenates stored bytes. */
export async function serveList(
  store: Store,
  request: ListRequest,
  exchange: Exchange,
  now: Date,
): Promise<void> {
  const page = readPage(store, request);
  const { served, representation } = request;
  const { definition } = served;
  if (
    representation.as === undefined &&
    representation.format === 'json' &&
    definition.convert === undefined
  ) {
    await exchange.bytes(200, 'application/json', listBytes(served, page));
    return;
  }
  const objects = await readable(served, page.entries.map(decodeStored));
  if (representation.as === 'Table') {
    const apiVersion = `meta.k8s.io/${representation.version}`;
    const options = { apiVersion, include: includeObject(request.query), metadata: page.metadata, now };
    await sendObject(exchange, 200, toTable(served.version, objects, options), representation.format);
  } else {
    await sendList(exchange, 200, listAs(request, objects, page.metadata), representation.format);
  }
}

/** The objects that the query selects, at one revision, and the continue token for the rest. */
export function readPage(store: Store, request: ListRequest): Page {
  const { served, query } = request;
  const { definition } = served;
  const selection = parseSelection(served, query);
  const options = listOptions(query);
  const { limit } = options;
  const start = startingPoint(options);
  const namespace = definition.namespaced && request.namespace !== '' ? request.namespace : undefined;
  const result =
    computedList(store, definition, namespace, new Date()) ??
    atRevision(store, start, () =>
      store.list(definition.storage, {
        namespace,
        revision: start.revision,
        after: start.token?.after,
        // With selectors, it is unknown how many objects must be read to fill a page.
        limit: selection.all && limit > 0 ? limit : undefined,
      }),
    );
  let { entries, remaining } = result;
  if (!selection.all) {
    entries = entries.filter(selection.matches);
    if (limit > 0 && entries.length > limit) {
      remaining = entries.length - limit;
      entries = entries.slice(0, limit);
    }
  }
  const metadata: ListMeta = { resourceVersion: String(result.revision) };
  const last = entries.at(-1);
  if (remaining > 0 && last !== undefined) {
    metadata.continue = encodeContinue(result.revision, last);
    if (selection.all) metadata.remainingItemCount = remaining;
  }
  return { entries, metadata };
}

interface StartingPoint {
  /** List exactly this revision. */
  revision?: number;
  /** List the newest revision, which must be at least this one. */
  minimum?: number;
  token?: ContinueToken;
}

/** Combines resourceVersion, resourceVersionMatch and continue. */
function startingPoint(options: ListOptions): StartingPoint {
  const revision = Number(options.resourceVersion);
  if (options.continue !== '') {
    const parsed = parseContinue(options.continue);
    // A token with revision -1 continues at the newest revision.
    return { revision: parsed.revision > 0 ? parsed.revision : undefined, token: parsed };
  }
  return options.exact ? { revision } : { minimum: revision };
}

/**
 * Turns revisions that the store cannot serve into the errors of kube-apiserver: 504 for the future; 410 for the
 * past, with a token that continues at the newest revision if the client was reading pages.
 */
function atRevision<T>(store: Store, start: StartingPoint, read: () => T): T {
  const { minimum = 0 } = start;
  if (minimum > store.revision) throw tooLargeResourceVersion(minimum, store.revision);
  try {
    return read();
  } catch (error) {
    if (error instanceof FutureRevisionError) throw tooLargeResourceVersion(error.requested, error.current);
    if (!(error instanceof CompactedError)) throw error;
    throw start.token === undefined ? listTooOld() : continueTooOld(encodeContinue(-1, start.token.after));
  }
}

/** Builds the list from stored bytes, without decoding or encoding objects. */
function listBytes(served: Served, page: Page): Buffer[] {
  const head = JSON.stringify({
    kind: served.definition.listKind,
    apiVersion: servedApiVersion(served),
    metadata: page.metadata,
    items: [],
  });
  // Custom resources have sorted keys, so the order of the fields of the list differs.
  const parts: Buffer[] = [Buffer.from(head.slice(0, -2))];
  const comma = Buffer.from(',');
  page.entries.forEach((entry, index) => {
    if (index > 0) parts.push(comma);
    parts.push(...listItem(served, entry));
  });
  parts.push(Buffer.from(']}\n'));
  return parts;
}

function listAs(request: ListRequest, objects: KubeObject[], metadata: ListMeta): List {
  const { served, representation } = request;
  if (representation.as === undefined) {
    const { listKind } = served.definition;
    return { kind: listKind, apiVersion: servedApiVersion(served), metadata, items: objects };
  }
  if (representation.as !== 'PartialObjectMetadataList') {
    throw new ApiError(406, 'NotAcceptable', `a list cannot be written as ${representation.as}`);
  }
  const apiVersion = `meta.k8s.io/${representation.version}`;
  const items = objects.map((object) => partialMetadata(object, apiVersion));
  return { kind: representation.as, apiVersion, metadata, items };
}
