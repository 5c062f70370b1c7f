/**
 * Admission: everything that can change or reject a write before it is stored. One write passes, in this order:
 *
 *   mutate:   namespace lifecycle, node restriction, defaults of LimitRanges, service account, RuntimeClass, default
 *             IngressClass and StorageClass, mutating webhooks, and then the defaults again, for fields that webhooks
 *             added
 *   validate: RBAC escalation, certificate signers, default PriorityClass, LimitRanges, resizing of claims, admission
 *             policies, validating webhooks. For deletes: namespace lifecycle, node restriction, policies and webhooks
 *   reserve:  ResourceQuotas, as the last step before the write
 *
 * The order is that of kube-apiserver: built-in mutating plugins, mutating webhooks, then validation, so that
 * validation sees the final object. Each plugin is a function (plugin.ts); policies/ evaluates expressions, and webhooks/ calls external
 * servers.
 */
import type { KubeObject } from '@tidegate/kube';
import type { Authorizer } from '../auth/authorization.ts';
import { checkEscalation } from '../auth/rbac/escalation.ts';
import type { Rbac } from '../auth/rbac/rbac.ts';
import type { Admission, AdmissionAttributes } from '../operations/core.ts';
import type { QuotaLedger } from '../quota/ledger.ts';
import type { Registry } from '../served/registry.ts';
import type { Store } from '../store/types.ts';
import { certificates } from './certificates.ts';
import { claimResize } from './claim-resize.ts';
import { defaultIngressClass } from './default-ingress-class.ts';
import { defaultStorageClass } from './default-storage-class.ts';
import { limitRanges } from './limit-ranges.ts';
import { namespaceLifecycle } from './namespace-lifecycle.ts';
import { nodeRestriction } from './node-restriction.ts';
import { AdmissionPolicies } from './policies/policies.ts';
import { singleDefaultPriority } from './priority-classes.ts';
import { runtimeClasses } from './runtime-class.ts';
import { serviceAccounts } from './service-account.ts';
import type { ServiceResolver } from './webhooks/service-resolver.ts';
import { AdmissionWebhooks } from './webhooks/webhooks.ts';

export interface AdmissionOptions {
  store: Store;
  registry: Registry;
  rbac: Rbac;
  authorizer: Authorizer;
  /** Enforces ResourceQuotas. */
  ledger: QuotaLedger;
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
  const storageClass = defaultStorageClass(store);
  const limits = limitRanges(store);
  const runtimes = runtimeClasses(store);
  const priorities = singleDefaultPriority(store);
  const resize = claimResize(store);
  const ledger = options.ledger;
  const signers = certificates(authorizer);
  const policies = new AdmissionPolicies({ store, registry, authorizer });
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
      limits.mutate(attributes);
      await accounts(attributes);
      runtimes(attributes);
      ingressClass(attributes);
      storageClass(attributes);
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
        priorities(attributes);
        limits.validate(attributes);
        resize(attributes);
      }
      await policies.validate(attributes);
      await webhooks.validate(attributes);
    },
    reserve: (attributes) => ledger.reserve(attributes),
    close() {
      policies.close();
      webhooks.close();
    },
  };
}

function noEscalation(attributes: AdmissionAttributes, rbac: Rbac, authorizer: Authorizer): void {
  const { served, user, object, oldObject } = attributes;
  if (served.definition.group !== 'rbac.authorization.k8s.io' || object === undefined) return;
  checkEscalation({ resource: served.definition.plural, user, object, old: oldObject }, rbac, authorizer);
}
