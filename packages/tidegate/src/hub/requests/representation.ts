import { ApiError, negotiate, type Representation } from '@tidegate/serving';

/**
 * Decides in which form the hub writes the answer to a read, or that the request is forwarded for the API server to
 * answer. The hub writes JSON and YAML. It forwards requests for tables and protobuf if `mayForward` is true: the API
 * server is reachable and no filter applies. A filtered response is never forwarded in a form that the hub cannot read,
 * because it may contain what the client must not see.
 */
export function representationFor(
  accept: string | undefined,
  mayForward: boolean,
): Representation | 'forward' {
  let representation: Representation;
  try {
    representation = negotiate(accept);
  } catch (error) {
    if (mayForward) return 'forward';
    throw new ApiError(
      406,
      'NotAcceptable',
      'the hub can answer this request only in application/json or application/yaml, because the response is filtered or the API server is unreachable; add one of these media types to the Accept header',
      undefined,
      error,
    );
  }
  if (representation.as !== 'Table') return representation;
  return mayForward ? 'forward' : negotiate(withoutTables(accept ?? ''));
}

/** Clients that request a table, for example kubectl, also accept the object as their last choice. */
const withoutTables = (accept: string): string =>
  accept
    .split(',')
    .filter((range) => !/;\s*as=Table\b/.test(range))
    .join(',') || 'application/vnd.none';
