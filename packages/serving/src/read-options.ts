import { ApiError, badRequest, invalid } from './api-error.ts';
import { type FieldError, fieldError, fieldErrorMessage } from './field-error.ts';

/** The options of a list, without selectors. */
export interface ListOptions {
  /** A number as text. Empty: the newest version; `0`: any version that the server has. */
  resourceVersion: string;
  /** Exactly that version, not a newer one. */
  exact: boolean;
  /** Zero: no limit. */
  limit: number;
  continue: string;
}

/** The options of a watch, without selectors. */
export interface WatchOptions {
  /** A number as text. Empty: the newest version; `0`: any version that the server has. */
  resourceVersion: string;
  /** Send the existing objects first, as ADDED events. */
  initialEvents: boolean;
  /** Mark the end of the existing objects with a bookmark. */
  initialEventsEnd: boolean;
  allowWatchBookmarks: boolean;
  /** Zero: the server decides. */
  timeoutSeconds: number;
}

/** The annotation of the bookmark that ends the initial events. */
export const INITIAL_EVENTS_END = 'k8s.io/initial-events-end';

/** Parses the query of a list. Throws a 400 or 422 error for combinations that Kubernetes does not allow. */
export function listOptions(query: URLSearchParams): ListOptions {
  const limit = parseInteger(query.get('limit'));
  const version = query.get('resourceVersion') ?? '';
  const match = query.get('resourceVersionMatch') ?? '';
  const token = query.get('continue') ?? '';
  checkList(version, match, token, query.get('sendInitialEvents'));
  if (!isVersion(version)) throw badRequest(`invalid resource version: ${notANumber(version)}`);
  const versioned = Number(version) > 0;
  if (token !== '' && version !== '' && version !== '0') {
    throw badRequest('specifying resource version is not allowed when using continue');
  }
  // A limit with a version has always meant exactly that version, since before resourceVersionMatch existed.
  const exact = match === 'Exact' || (match === '' && versioned && (query.get('limit') ?? '') !== '');
  return { resourceVersion: version, exact, limit, continue: token };
}

/** Parses the query of a watch. Throws a 400 or 422 error for combinations that Kubernetes does not allow. */
export function watchOptions(query: URLSearchParams): WatchOptions {
  const sendInitialEvents = query.get('sendInitialEvents');
  checkWatch(query.get('resourceVersionMatch') ?? '', sendInitialEvents);
  const version = query.get('resourceVersion') ?? '';
  // Only a list wraps this error into a BadRequest.
  if (!isVersion(version)) throw new ApiError(500, '', notANumber(version));
  const asked = isTrue(sendInitialEvents);
  return {
    resourceVersion: version,
    initialEvents: asked || (Number(version) === 0 && !isFalse(sendInitialEvents)),
    initialEventsEnd: asked,
    allowWatchBookmarks: isTrue(query.get('allowWatchBookmarks')),
    timeoutSeconds: parseInteger(query.get('timeoutSeconds')),
  };
}

const MIN_TIMEOUT_MS = 1800_000;

/**
 * How long a watch lasts. A random part spreads out watches that were opened together, so that they do not reconnect
 * together.
 */
export const watchTimeoutMs = ({ timeoutSeconds }: WatchOptions, random = Math.random): number =>
  timeoutSeconds > 0 ? timeoutSeconds * 1000 : MIN_TIMEOUT_MS * (1 + random());

function checkList(version: string, match: string, token: string, initialEvents: string | null): void {
  const errors: FieldError[] = [];
  if (initialEvents !== null) {
    errors.push(fieldError.forbidden('sendInitialEvents', 'sendInitialEvents is forbidden for list'));
  }
  if (match !== '') {
    const forbid = (why: string): void => {
      errors.push(fieldError.forbidden('resourceVersionMatch', why));
    };
    if (version === '') forbid('resourceVersionMatch is forbidden unless resourceVersion is provided');
    if (token !== '') forbid('resourceVersionMatch is forbidden when continue is provided');
    if (match !== 'Exact' && match !== 'NotOlderThan') {
      errors.push(fieldError.notSupported('resourceVersionMatch', match, ['Exact', 'NotOlderThan', '']));
    }
    if (match === 'Exact' && version === '0') {
      forbid('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
    }
  }
  refuse(errors);
}

function checkWatch(match: string, initialEvents: string | null): void {
  const errors: FieldError[] = [];
  if (initialEvents !== null && match !== 'NotOlderThan') {
    errors.push(
      fieldError.forbidden(
        'resourceVersionMatch',
        'sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
      ),
    );
  }
  if (initialEvents === null && match !== '') {
    errors.push(
      fieldError.forbidden(
        'resourceVersionMatch',
        'resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided',
      ),
    );
  }
  refuse(errors);
}

function refuse(errors: FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', errors);
}

const isVersion = (text: string): boolean => /^\d{0,15}$/.test(text);

const notANumber = (text: string): string =>
  fieldErrorMessage(
    fieldError.invalid(
      'resourceVersion',
      text,
      `strconv.ParseUint: parsing ${JSON.stringify(text)}: invalid syntax`,
    ),
  );

function parseInteger(text: string | null): number {
  if (text === null || text === '') return 0;
  if (!/^-?\d+$/.test(text)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text)}: invalid syntax`);
  }
  return Math.max(0, Number(text));
}

const isTrue = (value: string | null): boolean => value === 'true' || value === '1';
const isFalse = (value: string | null): boolean => value === 'false' || value === '0';
