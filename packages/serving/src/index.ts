/**
 * `@tidegate/serving`: the server side of the Kubernetes API conventions, for programs that answer API requests: the
 * embedded API server and the hub.
 *
 * One request: `requestTarget` parses path and query -> `requestInfo` reads verb and resource from them -> `bearerToken` and `ClientCertificates`
 * read the credentials -> `listOptions` and `watchOptions` validate the query -> `negotiate` chooses the
 * representation -> the program computes the answer -> `Exchange` sends it, compressed if the client accepts that.
 * Errors are ApiErrors, which become a Status; problems of fields are FieldErrors. All messages are those of
 * kube-apiserver, because clients and users search for them.
 */
export {
  ApiError,
  alreadyExists,
  badRequest,
  conflict,
  continueTooOld,
  expired,
  forbidden,
  insufficientStorage,
  internalError,
  invalid,
  listTooOld,
  methodNotAllowed,
  noSuchPath,
  notFound,
  OBJECT_MODIFIED,
  type ResourceRef,
  tooLargeResourceVersion,
  tooOldResourceVersion,
  unauthorized,
  unsupportedMediaType,
} from './api-error.ts';
export { bearerToken, jwtPart } from './bearer.ts';
export { ClientCertificates, type ShownCertificate } from './client-certificate.ts';
export { Exchange } from './exchange.ts';
export {
  type FieldError,
  type FieldErrorReason,
  fieldError,
  fieldErrorMessage,
  printJson,
  printValue,
} from './field-error.ts';
export { quoteCharacter } from './go-quote.ts';
export { HealthServer } from './health-server.ts';
export {
  type Allows,
  type Format,
  MEDIA_TYPES,
  mediaRanges,
  negotiate,
  negotiateAmong,
  type Representation,
} from './negotiate.ts';
export { OpenSockets, type OpenSocketsOptions } from './open-sockets.ts';
export { partialMetadata } from './partial-metadata.ts';
export {
  INITIAL_EVENTS_END,
  type ListOptions,
  listOptions,
  type WatchOptions,
  watchOptions,
  watchTimeoutMs,
} from './read-options.ts';
export { isWatch, type RequestInfo, type ResourceRequest, requestInfo, type Verb } from './request-info.ts';
export { type RequestTarget, requestTarget } from './request-target.ts';
export { untilClosed } from './until-closed.ts';
