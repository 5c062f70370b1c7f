import type { Status, StatusDetails } from '@tidegate/kube';
import { type FieldError, fieldErrorMessage } from './field-error.ts';

/** An error that is answered with a Status. Every other exception becomes a 500. */
export class ApiError extends Error {
  readonly status: Status;

  constructor(code: number, reason: string, message: string, details?: StatusDetails, cause?: unknown) {
    super(message, { cause });
    this.name = 'ApiError';
    this.status = {
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      ...(reason === '' ? {} : { reason }),
      ...(details === undefined ? {} : { details }),
      code,
    };
  }
}

/** The resource of an error. `resource` is the plural, qualified where kube-apiserver qualifies it. */
export interface ResourceRef {
  group: string;
  resource: string;
}

const qualified = (ref: ResourceRef): string =>
  ref.group === '' ? ref.resource : `${ref.resource}.${ref.group}`;

const detailsOf = (ref: ResourceRef, name: string): StatusDetails => ({
  ...(name === '' ? {} : { name }),
  ...(ref.group === '' ? {} : { group: ref.group }),
  kind: ref.resource,
});

/** 404: the object does not exist. */
export const notFound = (ref: ResourceRef, name: string): ApiError =>
  new ApiError(404, 'NotFound', `${qualified(ref)} "${name}" not found`, detailsOf(ref, name));

/** 409: the name is in use. */
export const alreadyExists = (ref: ResourceRef, name: string): ApiError =>
  new ApiError(409, 'AlreadyExists', `${qualified(ref)} "${name}" already exists`, detailsOf(ref, name));

/** 409: the object has changed, or a precondition does not hold. `why` completes the message. */
export const conflict = (ref: ResourceRef, name: string, why: string): ApiError =>
  new ApiError(
    409,
    'Conflict',
    `Operation cannot be fulfilled on ${qualified(ref)} "${name}": ${why}`,
    detailsOf(ref, name),
  );

/** The reason that clients, for example client-go, recognize as a reason to read the object again and retry. */
export const OBJECT_MODIFIED =
  'the object has been modified; please apply your changes to the latest version and try again';

/** 403: the user may not do this, or an admission plugin rejected the request. */
export const forbidden = (ref: ResourceRef, name: string, why: string): ApiError =>
  new ApiError(
    403,
    'Forbidden',
    name === ''
      ? `${qualified(ref)} is forbidden: ${why}`
      : `${qualified(ref)} ${JSON.stringify(name)} is forbidden: ${why}`,
    detailsOf(ref, name),
  );

/** 401: the credentials are missing or invalid. */
export const unauthorized = (): ApiError => new ApiError(401, 'Unauthorized', 'Unauthorized');

/** 400: the request is malformed. */
export const badRequest = (message: string): ApiError => new ApiError(400, 'BadRequest', message);

/** 405: the resource does not support the verb. */
export const methodNotAllowed = (): ApiError =>
  new ApiError(
    405,
    'MethodNotAllowed',
    'the server does not allow this method on the requested resource',
    {},
  );

/** A path that does not exist, for example a subresource that the kind does not have. */
export const noSuchPath = (): ApiError =>
  new ApiError(404, 'NotFound', 'the server could not find the requested resource', {});

/** The resource version of a list or watch is no longer available. */
export const expired = (message: string): ApiError => new ApiError(410, 'Expired', message);

/** A watch from a version that was compacted; `oldest` is the first version that is still available. */
export const tooOldResourceVersion = (requested: string | number, oldest: string | number): ApiError =>
  expired(`too old resource version: ${requested} (${oldest})`);

/** A list at an exact version that is no longer available. */
export const listTooOld = (): ApiError => expired('The resourceVersion for the provided list is too old.');

/**
 * The next page of a list whose version was compacted. A client that continues with the new token gets current
 * objects.
 */
export function continueTooOld(continueToken?: string): ApiError {
  const failure = expired(
    'The provided continue parameter is too old to display a consistent list result. You can start a new list without ' +
      'the continue parameter, or use the continue token in this response to retrieve the remainder of the results. ' +
      'Continuing with the provided token results in an inconsistent list - objects that were created, modified, or ' +
      'deleted between the time the first chunk was returned and now may show up in the list.',
  );
  if (continueToken !== undefined) failure.status.metadata = { continue: continueToken };
  return failure;
}

/** The client knows a newer version than this server, for example because the server lags behind. */
export const tooLargeResourceVersion = (requested: string | number, current: string | number): ApiError =>
  new ApiError(504, 'Timeout', `Timeout: Too large resource version: ${requested}, current: ${current}`, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    retryAfterSeconds: 1,
  });

/**
 * 422 with one cause per field. `kind` is the Kind, not the resource: `Ingress.networking.k8s.io "x" is invalid:
 * ...`.
 */
export function invalid(kind: { group: string; kind: string }, name: string, errors: FieldError[]): ApiError {
  const qualifiedKind = kind.group === '' ? kind.kind : `${kind.kind}.${kind.group}`;
  const messages = [...new Set(errors.map(fieldErrorMessage))];
  const text = messages.length === 1 ? messages[0] : `[${messages.join(', ')}]`;
  return new ApiError(422, 'Invalid', `${qualifiedKind} ${JSON.stringify(name)} is invalid: ${text}`, {
    ...(name === '' ? {} : { name }),
    ...(kind.group === '' ? {} : { group: kind.group }),
    ...(kind.kind === '' ? {} : { kind: kind.kind }),
    causes: errors.map((e) => ({ reason: e.reason, message: e.body, field: e.field })),
  });
}

/** 415: the server cannot read the format of the body. */
export const unsupportedMediaType = (message: string): ApiError =>
  new ApiError(415, 'UnsupportedMediaType', message);

/**
 * 507: the server has no space to store the change. Reads still work. It has no Retry-After, because clients would retry
 * silently for a long time instead of showing the message.
 */
export const insufficientStorage = (message: string, cause?: unknown): ApiError =>
  new ApiError(507, 'InsufficientStorage', message, undefined, cause);

/** 500: an unexpected error. Its message is sent to the client, as in kube-apiserver. */
export const internalError = (cause: unknown): ApiError => {
  const text = cause instanceof Error ? cause.message : String(cause);
  return new ApiError(
    500,
    'InternalError',
    `Internal error occurred: ${text}`,
    { causes: [{ message: text }] },
    cause,
  );
};
