/**
 * The admission webhooks: validation and defaulting that a CRD schema cannot express. This folder owns the rules
 * (`rules/`, one file per kind), the HTTPS server, its certificates (authorities.ts, authority-secret.ts) and the
 * webhook configurations (configuration.ts, registration.ts; manifest.ts for deploy/). webhook.ts keeps all of these
 * current.
 *
 * Walk: `kubectl delete nodepool hangzhou`.
 *
 * 1. The API server finds the rule in the ValidatingWebhookConfiguration `tidegate` and posts an AdmissionReview.
 * 2. server.ts authenticates the API server and reads the review within limits (body-memory.ts). It parses it with
 *    review.ts, waits for the turn of the tenant (review-queue.ts), and selects the rule with rule.ts.
 * 3. rules/node-pool.ts finds in the membership index that node-a is still in the pool, and returns a result that
 *    forbids the operation.
 * 4. review.ts builds the response. The user reads which node is in the pool and how to remove it.
 */
export { accessReviews } from './access.ts';
export type { Endpoint } from './configuration.ts';
export { admissionRules } from './rules/index.ts';
export { ingressSources } from './rules/ingress-sources.ts';
export type { ClientAuthentication } from './server.ts';
export { runWebhook } from './webhook.ts';
