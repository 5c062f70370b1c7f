/**
 * A Kubernetes API server in the current process, for local use and for tests.
 *
 * One request passes through these folders:
 *   http/handler.ts   reads the request
 *   auth/             authenticates the user and authorizes the request
 *   served/           finds the resource and the version
 *   http/             has one file for each verb
 *   operations/       create, update and delete: runs defaults, admission/, validation and bookkeeping in order
 *   store/            makes the change durable, then publishes it; the response copies the stored bytes
 *
 * resources/ has the definitions of the built-in kinds, and crd/ derives those of custom resources. Both are written in
 * the language of schema/. patch/ and apply/ are pure functions. collector/ is the garbage collector, kubelet/ connects
 * to nodes, and discovery/ and openapi/ describe the API to clients. server.ts connects the parts.
 */

export { KUBERNETES_VERSION } from './served/version.ts';
export { startApiServer } from './server.ts';
