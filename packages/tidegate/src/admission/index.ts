/**
 * Admission: what can not be said in a schema is said here, before an object is written. This folder owns the rules
 * (`rules/`, a file a kind), the server that API servers ask, its certificates, and the configuration by which
 * they come to ask.
 *
 * `kubectl delete nodepool hangzhou`:
 *   the API server finds the rule in our ValidatingWebhookConfiguration, and posts an AdmissionReview
 *   -> server.ts reads it, rule.ts finds who judges -> rules/node-pool.ts looks into the membership: node-a is in it
 *   -> review.ts words the verdict, and the user reads which node holds the pool and what to do.
 */
export { accessReviews } from './access.ts';
export type { Endpoint } from './configuration.ts';
export { admissionRules } from './rules/index.ts';
export { ingressSources } from './rules/ingress-sources.ts';
export { runWebhook } from './webhook.ts';
