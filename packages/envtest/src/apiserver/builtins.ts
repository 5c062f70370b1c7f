/** Connects the built-in resources to the parts of the server that they need. */
import { recentWildcardPorts } from '../machine/index.ts';
import type { Authenticator } from './auth/authenticate.ts';
import type { Authorizer } from './auth/authorization.ts';
import type { Pki } from './auth/pki.ts';
import type { Rbac } from './auth/rbac/rbac.ts';
import { reviews } from './auth/reviews.ts';
import { tokenRequestHandler } from './auth/token-request.ts';
import type { ServiceAccountTokens } from './auth/tokens.ts';
import { crdStrategy } from './crd/strategy.ts';
import { kubeletHooks } from './kubelet/index.ts';
import { metrics } from './metrics/definition.ts';
import type { Core } from './operations/core.ts';
import { evictionHandler } from './operations/evict.ts';
import { builtinResources, ServiceAllocator } from './resources/index.ts';
import type { ResourceDefinition } from './resources/types.ts';

export interface BuiltinsOptions {
  core: Core;
  pki: Pki;
  tokens: ServiceAccountTokens;
  authenticator: Authenticator;
  authorizer: Authorizer;
  rbac: Rbac;
  /** The range of ClusterIPs. */
  serviceCIDR: string;
  /** Whether to serve metrics.k8s.io. */
  podMetrics: boolean;
}

/** The definitions of all built-in resources, connected to the server. */
export function builtins(options: BuiltinsOptions): {
  definitions: ResourceDefinition[];
  close(): void;
} {
  const { core, pki, tokens, authenticator, authorizer, rbac } = options;
  const services = new ServiceAllocator(core.store, {
    clusterIPRange: options.serviceCIDR,
    usedPorts: recentWildcardPorts(),
  });
  const definitions = builtinResources({
    services,
    reviews: reviews({ authenticator, audiences: tokens.audiences, authorizer, rbac }),
    serviceAccountToken: tokenRequestHandler(tokens),
    eviction: evictionHandler(core),
    kubelets: kubeletHooks(core.store, pki),
    customResourceDefinition: crdStrategy,
  });
  if (options.podMetrics) definitions.push(...metrics);
  return { definitions, close: () => services.close() };
}
