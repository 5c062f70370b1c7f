/**
 * A Kubernetes API server in-process: for local use and for tests, with nothing to download.
 *
 * A request: http/handler.ts -> auth/ (who, and may they?) -> registry.ts (which resource?) -> http/ (one file a verb)
 * -> operations/ (create, update, delete: the order in which defaults, admission/, validation and bookkeeping happen)
 * -> store/ (durable, then published) -> the stored bytes go out as they are.
 *
 * What is particular about a kind stands in resources/ (built-in) or comes from its CRD (crd/); schema/ is the
 * language both are written in. patch/ and apply/ are pure. collector/ deletes what deletions leave behind.
 */

export { KUBERNETES_VERSION } from './served/version.ts';
export { startApiServer } from './server.ts';
