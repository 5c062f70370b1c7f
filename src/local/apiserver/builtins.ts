/** The built-in resources, tied to the parts of the server that they need. */
import type { Authenticator } from './auth/authenticate.ts';
import type { Authorizer } from './auth/authorization.ts';
import type { Pki } from './auth/pki.ts';
import type { Rbac } from './auth/rbac/rbac.ts';
import { type ReviewHandler, reviews } from './auth/reviews.ts';
import { tokenRequestHandler } from './auth/token-request.ts';
import type { ServiceAccountTokens } from './auth/tokens.ts';
import { customResourceDefinitionStrategy } from './crd/strategy.ts';
import type { Core } from './operations/core.ts';
import { evictionHandler } from './operations/evict.ts';
import { builtinResources, type ReviewResource, ServiceAllocator } from './resources/index.ts';
import type { ResourceDefinition } from './resources/types.ts';

export interface BuiltinsOptions {
  core: Core;
  pki: Pki;
  tokens: ServiceAccountTokens;
  authenticator: Authenticator;
  authorizer: Authorizer;
  rbac: Rbac;
}

const REVIEWS: Record<ReviewResource, string> = {
  tokenreviews: 'TokenReview',
  selfsubjectreviews: 'SelfSubjectReview',
  subjectaccessreviews: 'SubjectAccessReview',
  selfsubjectaccessreviews: 'SelfSubjectAccessReview',
  localsubjectaccessreviews: 'LocalSubjectAccessReview',
  selfsubjectrulesreviews: 'SelfSubjectRulesReview',
};

export function builtins(options: BuiltinsOptions): { definitions: ResourceDefinition[]; close(): void } {
  const { core, tokens, authenticator, authorizer, rbac } = options;
  const services = new ServiceAllocator(core.store);
  const handlers = reviews({ authenticator, audiences: tokens.audiences, authorizer, rbac });
  const byResource = Object.fromEntries(
    Object.entries(REVIEWS).map(([resource, kind]) => [resource, handlers[kind]]),
  ) as Record<ReviewResource, ReviewHandler>;
  const definitions = builtinResources({
    services,
    reviews: byResource,
    serviceAccountToken: tokenRequestHandler(tokens),
    eviction: evictionHandler(core),
    customResourceDefinition: customResourceDefinitionStrategy,
  });
  return { definitions, close: () => services.close() };
}
