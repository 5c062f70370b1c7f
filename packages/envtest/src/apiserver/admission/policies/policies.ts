/**
 * ValidatingAdmissionPolicies. For each request: for each binding whose policy and whose own rules match -> evaluate the policy
 * for each object of parameters (`params.ts`, `compiled.ts`) -> deny the request or warn, as the binding says.
 */
import { type KubeObject, ownField } from '@tidegate/kube';
import { ApiError, forbidden } from '@tidegate/serving';
import type { Authorizer } from '../../auth/authorization.ts';
import type { AdmissionAttributes } from '../../operations/core.ts';
import type {
  MatchResources,
  PolicyBinding,
  ValidatingAdmissionPolicy,
} from '../../resources/policies/types.ts';
import { CompileError } from '../../schema/cel/compile.ts';
import type { Registry, Served } from '../../served/registry.ts';
import type { Store } from '../../store/types.ts';
import { authorizeFor } from '../webhooks/conditions.ts';
import { RequestMatcher } from '../webhooks/matcher.ts';
import { formsOf, reviewRequest } from '../webhooks/review.ts';
import { CompiledPolicy, PolicyFailure, type Violation } from './compiled.ts';
import { paramsOf } from './params.ts';
import { StoredObjects } from './stored-objects.ts';

const GROUP = 'admissionregistration.k8s.io';
const CODES: Readonly<Record<string, number>> = {
  Forbidden: 403,
  RequestEntityTooLarge: 413,
};

export interface AdmissionPoliciesOptions {
  store: Store;
  registry: Registry;
  authorizer: Authorizer;
}

export class AdmissionPolicies {
  readonly #options: AdmissionPoliciesOptions;
  readonly #matcher: RequestMatcher;
  readonly #policies: StoredObjects<ValidatingAdmissionPolicy>;
  readonly #bindings: StoredObjects<PolicyBinding>;
  /** Compiled once for each version of a policy. */
  readonly #compiled = new WeakMap<ValidatingAdmissionPolicy, CompiledPolicy>();

  constructor(options: AdmissionPoliciesOptions) {
    this.#options = options;
    this.#matcher = new RequestMatcher(options.store, options.registry);
    this.#policies = new StoredObjects(options.store, `${GROUP}/validatingadmissionpolicies`);
    this.#bindings = new StoredObjects(options.store, `${GROUP}/validatingadmissionpolicybindings`);
  }

  close(): void {
    this.#policies.close();
    this.#bindings.close();
  }

  async validate(attributes: AdmissionAttributes): Promise<void> {
    if (this.#bindings.size === 0 || isExempt(attributes)) return;
    for (const binding of this.#bindings.all()) {
      const policy = this.#policies.get(binding.spec.policyName ?? '');
      if (policy === undefined) continue;
      const violations = await this.#violations(policy, binding, attributes);
      if (violations.length > 0) enforce(policy, binding, violations, attributes);
    }
  }

  async #violations(
    policy: ValidatingAdmissionPolicy,
    binding: PolicyBinding,
    attributes: AdmissionAttributes,
  ): Promise<Violation[]> {
    const { matchConstraints, paramKind, failurePolicy } = policy.spec;
    const target = this.#match(matchConstraints, attributes);
    const { matchResources, paramRef } = binding.spec;
    if (target === undefined) return [];
    if (matchResources !== undefined && this.#match(matchResources, attributes) === undefined) return [];
    try {
      const params = await paramsOf(this.#options, paramKind, paramRef, attributes);
      const values = await this.#values(target, attributes);
      const compiled = this.#compile(policy);
      return params.flatMap((one) => compiled.evaluate({ ...values, params: one }));
    } catch (error) {
      if (!(error instanceof PolicyFailure || error instanceof CompileError)) throw error;
      return failurePolicy === 'Ignore' ? [] : [{ message: error.message, reason: 'Invalid' }];
    }
  }

  /** Undefined if the request does not match. A binding without rules matches every resource. */
  #match(match: MatchResources | undefined, attributes: AdmissionAttributes): Served | undefined {
    const { resourceRules, excludeResourceRules, ...selectors } = match ?? {};
    const applies = (rules: MatchResources['resourceRules']) =>
      rules?.filter(({ resourceNames }) => !resourceNames?.length || resourceNames.includes(attributes.name));
    const excluded = { ...selectors, rules: applies(excludeResourceRules) };
    if (this.#matcher.wanted(excluded, attributes) !== undefined) return undefined;
    if (!resourceRules?.length) {
      return this.#matcher.selected(selectors, attributes) ? attributes.served : undefined;
    }
    return this.#matcher.match({ ...selectors, rules: applies(resourceRules) }, attributes);
  }

  async #values(target: Served, attributes: AdmissionAttributes) {
    const forms = await formsOf(attributes, target);
    const review = reviewRequest('', 'v1', attributes, target, forms) as { request: Record<string, unknown> };
    const { object, oldObject, ...request } = review.request;
    return {
      object,
      oldObject,
      request,
      namespaceObject: this.#matcher.namespace(attributes) ?? null,
      authorize: authorizeFor(this.#options.authorizer, attributes.user),
    };
  }

  #compile(policy: ValidatingAdmissionPolicy): CompiledPolicy {
    const compiled = this.#compiled.get(policy) ?? new CompiledPolicy(policy);
    this.#compiled.set(policy, compiled);
    return compiled;
  }
}

function enforce(
  policy: KubeObject,
  binding: PolicyBinding,
  violations: Violation[],
  attributes: AdmissionAttributes,
): void {
  const names = `ValidatingAdmissionPolicy '${policy.metadata.name}' with binding '${binding.metadata.name}'`;
  const actions = binding.spec.validationActions ?? [];
  if (actions.includes('Warn')) {
    for (const { message } of violations) attributes.warn(`Validation failed for ${names}: ${message}`);
  }
  const [first] = violations;
  if (first === undefined || !actions.includes('Deny')) return;
  throw denial(`${names} denied request: ${first.message}`, first.reason, attributes);
}

/** The text is that of a forbidden request, but reason and code are those of the validation, as in kube-apiserver. */
function denial(message: string, reason: string, { served, name, object }: AdmissionAttributes): ApiError {
  const { group, plural } = served.definition;
  const { status } = forbidden(
    { group, resource: plural },
    name || object?.metadata.name || 'Unknown',
    message,
  );
  const details = { ...status.details, causes: [{ message }] };
  return new ApiError(ownField(CODES, reason) ?? 422, reason, status.message ?? message, details);
}

/** Policies do not apply to policies. Otherwise a policy could prevent its own removal. */
const isExempt = ({ served: { definition } }: AdmissionAttributes): boolean =>
  definition.group === GROUP && definition.plural.startsWith('validatingadmissionpolic');
