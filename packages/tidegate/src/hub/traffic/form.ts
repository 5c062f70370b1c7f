import { ApiError, negotiate, type Representation } from '@tidegate/serving';

/** Who writes the answer to a read: the hub, in this form, or the API server, as the client has asked for it. */
export type Form = HubForm | { readonly by: 'server' };

export interface HubForm {
  readonly by: 'hub';
  readonly representation: Representation;
}

const SERVER: Form = { by: 'server' };

/**
 * Tables and protobuf are left to the API server where nothing is filtered and it can be reached. What is filtered has
 * to be understood, and is never passed on in a form that is not.
 */
export function formFor(accept: string | undefined, mayPass: boolean): Form {
  let representation: Representation;
  try {
    representation = negotiate(accept);
  } catch (error) {
    if (mayPass) return SERVER;
    throw new ApiError(
      406,
      'NotAcceptable',
      'the hub answers this in application/json or application/yaml only, because it is filtered or the API server can not be reached; add one of them to the Accept header',
      undefined,
      error,
    );
  }
  if (representation.as !== 'Table') return { by: 'hub', representation };
  return mayPass ? SERVER : { by: 'hub', representation: negotiate(withoutTables(accept ?? '')) };
}

/** Clients that ask for a table take the object too, as their last choice. */
const withoutTables = (accept: string): string =>
  accept
    .split(',')
    .filter((range) => !/;\s*as=Table\b/.test(range))
    .join(',') || 'application/vnd.none';
