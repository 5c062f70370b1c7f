import type { KubeObject, ListMeta } from '../../../kube/object.ts';
import type { Representation } from '../../../kube/serving/negotiate.ts';
import { decodeStored, fromStorage, listItem } from '../codec.ts';
import { ApiError, badRequest, expired, invalid } from '../errors.ts';
import { type FieldError, fieldError } from '../field-error.ts';
import { type Served, servedApiVersion } from '../registry.ts';
import { parseSelection } from '../selection.ts';
import { CompactedError, type Entry, FutureRevisionError, type Store } from '../store/types.ts';
import { includeObject, partialMetadata, toTable } from '../table.ts';
import { type ContinueToken, encodeContinue, parseContinue } from './continue-token.ts';
import type { Exchange } from './respond.ts';

export interface ListRequest {
  served: Served;
  /** '' : all namespaces. */
  namespace: string;
  query: URLSearchParams;
  representation: Representation;
}

interface Page {
  entries: Entry[];
  metadata: ListMeta;
}

export async function serveList(
  store: Store,
  request: ListRequest,
  exchange: Exchange,
  now: Date,
): Promise<void> {
  const page = readPage(store, request);
  const { served, representation } = request;
  if (representation.as === undefined && representation.format === 'json') {
    await exchange.bytes(200, 'application/json', listBytes(served, page));
    return;
  }
  const objects = page.entries.map((entry) => fromStorage(served, decodeStored(entry)));
  await exchange.object(200, listAs(request, objects, page.metadata, now), representation.format);
}

/** The objects that the query selects, at one revision, and the token for the rest. */
export function readPage(store: Store, request: ListRequest): Page {
  const { served, query } = request;
  const { definition } = served;
  const selection = parseSelection(definition, query);
  const limit = parseInteger(query.get('limit'));
  const start = startingPoint(query);
  const namespace = definition.namespaced && request.namespace !== '' ? request.namespace : undefined;
  const result = atRevision(store, start, () =>
    store.list(definition.storage, {
      namespace,
      revision: start.revision,
      after: start.token?.after,
      // With selectors nobody knows how many must be read to fill a page.
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
  /** Show exactly this revision. */
  revision?: number;
  /** Show the newest, which must be at least this one. */
  minimum?: number;
  token?: ContinueToken;
}

/** What resourceVersion, resourceVersionMatch and continue together ask for. */
function startingPoint(query: URLSearchParams): StartingPoint {
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const token = query.get('continue') ?? '';
  checkListOptions(version, match, token, query.get('sendInitialEvents'));
  const revision = parseResourceVersion(version);
  if (token !== '') {
    if (version !== '' && version !== '0') {
      throw badRequest('specifying resource version is not allowed when using continue');
    }
    const parsed = parseContinue(token);
    // Revision -1 is a token that goes on with whatever is there now.
    return { revision: parsed.revision > 0 ? parsed.revision : undefined, token: parsed };
  }
  const exact = match === 'Exact' || (match === '' && revision > 0 && (query.get('limit') ?? '') !== '');
  return exact ? { revision } : { minimum: revision };
}

function checkListOptions(version: string, match: string, token: string, initialEvents: string | null): void {
  const errors: FieldError[] = [];
  if (initialEvents !== null) {
    errors.push(fieldError.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  if (match !== '') {
    if (version === '') {
      errors.push(
        fieldError.forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden unless resourceVersion is provided',
        ),
      );
    }
    if (token !== '') {
      errors.push(
        fieldError.forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch is forbidden when continue is provided',
        ),
      );
    }
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(fieldError.notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && version === '0') {
      errors.push(
        fieldError.forbidden(
          'resourceVersionMatch',
          'resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
      );
    }
  }
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
}

/** '' and '0' are 0. */
function parseResourceVersion(text: string): number {
  if (text === '') return 0;
  if (!/^\d{1,15}$/.test(text)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(text)}: strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    );
  }
  return Number(text);
}

/** Zero when nothing is asked. */
export function parseInteger(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^-?\d+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Math.max(0, Number(text));
}

const INCONSISTENT =
  'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
  'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
  'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
  'deleted between the time the first chunk was returned and now may show up in the list.';

function atRevision<T>(store: Store, start: StartingPoint, read: () => T): T {
  const { minimum = 0 } = start;
  if (minimum > store.revision) throw tooLarge(minimum, store.revision);
  try {
    return read();
  } catch (error) {
    if (error instanceof FutureRevisionError) throw tooLarge(error.requested, error.current);
    if (!(error instanceof CompactedError)) throw error;
    if (start.token === undefined) {
      throw expired(`The resourceVersion for the provided list is too old.`);
    }
    const failure = expired(INCONSISTENT);
    failure.status.metadata = { continue: encodeContinue(-1, start.token.after) };
    throw failure;
  }
}

function tooLarge(requested: number, current: number): ApiError {
  return new ApiError(
    504,
    'Timeout',
    `Timeout: Too large resource version: ${requested}, current: ${current}`,
    {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
      retryAfterSeconds: 1,
    },
  );
}

/** The list made of stored bytes: nothing is decoded or encoded. */
function listBytes(served: Served, page: Page): Buffer[] {
  const head = JSON.stringify({
    kind: served.definition.listKind,
    apiVersion: servedApiVersion(served),
    metadata: page.metadata,
    items: [],
  });
  // Custom resources sort their keys; otherwise the two differ only in the order of fields.
  const parts: Buffer[] = [Buffer.from(head.slice(0, -2))];
  const comma = Buffer.from(',');
  page.entries.forEach((entry, index) => {
    if (index > 0) parts.push(comma);
    parts.push(...listItem(served, entry));
  });
  parts.push(Buffer.from(']}\n'));
  return parts;
}

function listAs(request: ListRequest, objects: KubeObject[], metadata: ListMeta, now: Date): unknown {
  const { served, representation, query } = request;
  const apiVersion = `meta.k8s.io/${representation.version}`;
  switch (representation.as) {
    case 'Table':
      return toTable(served.version, objects, { apiVersion, include: includeObject(query), metadata, now });
    case 'PartialObjectMetadataList':
      return {
        kind: 'PartialObjectMetadataList',
        apiVersion,
        metadata,
        items: objects.map((object) => partialMetadata(object, apiVersion)),
      };
    case undefined:
      return {
        kind: served.definition.listKind,
        apiVersion: servedApiVersion(served),
        metadata,
        items: objects,
      };
    default:
      throw new ApiError(406, 'NotAcceptable', `a list can not be written as ${representation.as}`);
  }
}
