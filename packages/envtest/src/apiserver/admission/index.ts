/**
 * Admission: everything that can change or reject a write before it is stored. One write passes, in this order:
 *
 *   mutate:   namespace lifecycle, node restriction, service account, default IngressClass, mutating webhooks, and then
 *             the defaults again, for fields that webhooks added
 *   validate: RBAC escalation, certificate signers, validating webhooks. For deletes: namespace lifecycle, node
 *             restriction and validating webhooks
 *
 * The order is that of kube-apiserver: built-in mutating plugins, mutating webhooks, then validation, so that
 * validation sees the final object. Each plugin is a function (plugin.ts); webhooks/ calls external servers.
 */
import type { KubeObject } from '@tidegate/kube';
import type { Authorizer } from '../auth/authorization.ts';
import { checkEscalation } from '../auth/rbac/escalation.ts';
import type { Rbac } from '../auth/rbac/rbac.ts';
import type { Admission, AdmissionAttributes } from '../operations/core.ts';
import type { Registry } from '../served/registry.ts';
import type { Store } from '../store/types.ts';
import { certificates } from './certificates.ts';
import { defaultIngressClass } from './default-ingress-class.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import { serviceAccounts } from './service-account.ts';
import type { ServiceResolver } from './webhooks/service-resolver.ts';
import { AdmissionWebhooks } from './webhooks/webhooks.ts';

export interface AdmissionOptions {
  store: Store;
  registry: Registry;
  rbac: Rbac;
  authorizer: Authorizer;
  random(limit: number): number;
  resolveService?: ServiceResolver;
}

/** Creates all plugins and starts to follow the webhook configurations. `close` releases their connections. */
export function openAdmission(options: AdmissionOptions): Admission & { close(): void } {
  const { store, registry, rbac, authorizer, random } = options;
  const lifecycle = namespaceLifecycle(store);
  const nodes = nodeRestriction(store);
  const accounts = serviceAccounts(store, random);
  const ingressClass = defaultIngressClass(store);
  const signers = certificates(authorizer);
  const webhooks = new AdmissionWebhooks({
    store,
    registry,
    authorizer,
    resolveService: options.resolveService,
  });
  return {
    async mutate(attributes) {
      lifecycle(attributes);
      nodes(attributes);
      await accounts(attributes);
      ingressClass(attributes);
      const object = await webhooks.mutate(attributes);
      if (object !== attributes.object) ingressClass({ ...attributes, object });
      return object as KubeObject;
    },
    async validate(attributes) {
      if (attributes.operation === 'DELETE') {
        lifecycle(attributes);
        nodes(attributes);
      } else {
        noEscalation(attributes, rbac, authorizer);
        signers(attributes);
      }
      await webhooks.validate(attributes);
    },
    close: () => webhooks.close(),
  };
}

function noEscalation(attributes: AdmissionAttributes, rbac: Rbac, authorizer: Authorizer): void {
  const { served, user, object, oldObject } = attributes;
  if (served.definition.group !== 'rbac.authorization.k8s.io' || object === undefined) return;
  checkEscalation({ resource: served.definition.plural, user, object, old: oldObject }, rbac, authorizer);
}
