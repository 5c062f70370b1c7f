/**
 * The server side of the Kubernetes API conventions, for a program that answers API requests itself: the embedded API
 * server and the hub. It owns: which resource and verb a request asks for (`request-info.ts`, `read-options.ts`), in
 * which representation the client wants the answer (`negotiate.ts`, `partial-metadata.ts`), errors as a `Status`
 * (`api-error.ts`, `field-error.ts`), the credentials a request shows (`bearer.ts`, `client-certificate.ts`), and one
 * request with its response (`exchange.ts`).
 */
export * from './api-error.ts';
export { bearerToken, jwtPart } from './bearer.ts';
export { ClientCertificates, type ShownCertificate } from './client-certificate.ts';
export { Exchange } from './exchange.ts';
export * from './field-error.ts';
export { quoteCharacter } from './go-quote.ts';
export { HealthServer } from './health-server.ts';
export { mediaRanges, negotiate, negotiateAmong, type Representation } from './negotiate.ts';
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
export { untilClosed } from './until-closed.ts';
