import type { KubeObject } from '@tidegate/kube';
import type { LabelSelector } from '../validation/selectors.ts';
import type { WebhookRule } from '../webhooks/types.ts';

export interface NamedRule extends WebhookRule {
  resourceNames?: string[];
}

export interface MatchResources {
  namespaceSelector?: LabelSelector;
  objectSelector?: LabelSelector;
  resourceRules?: NamedRule[];
  excludeResourceRules?: NamedRule[];
  matchPolicy?: string;
}

export interface Validation {
  expression?: string;
  message?: string;
  messageExpression?: string;
  reason?: string;
}

export interface Variable {
  name?: string;
  expression?: string;
}

export interface ParamKind {
  apiVersion?: string;
  kind?: string;
}

export interface ParamRef {
  name?: string;
  namespace?: string;
  selector?: LabelSelector;
  parameterNotFoundAction?: string;
}

export interface PolicySpec {
  paramKind?: ParamKind;
  matchConstraints?: MatchResources;
  validations?: Validation[];
  failurePolicy?: string;
  auditAnnotations?: { key?: string; valueExpression?: string }[];
  matchConditions?: { name?: string; expression?: string }[];
  variables?: Variable[];
}

export interface ValidatingAdmissionPolicy extends KubeObject {
  spec: PolicySpec;
}

export interface PolicyBinding extends KubeObject {
  spec: {
    policyName?: string;
    paramRef?: ParamRef;
    matchResources?: MatchResources;
    validationActions?: string[];
  };
}
