/** The fields of ResourceQuota and LimitRange that the server uses. */
import type { KubeObject } from '@tidegate/kube';
import type { ResourceList } from '../validation/resource-names.ts';

export interface ScopeRequirement {
  scopeName?: string;
  operator?: string;
  values?: string[];
}

export interface ResourceQuotaSpec {
  hard?: ResourceList;
  scopes?: string[];
  scopeSelector?: { matchExpressions?: ScopeRequirement[] };
}

export interface ResourceQuota extends KubeObject {
  spec: ResourceQuotaSpec;
  status: { hard?: ResourceList; used?: ResourceList };
}

export interface LimitRangeItem {
  type?: string;
  max?: ResourceList;
  min?: ResourceList;
  default?: ResourceList;
  defaultRequest?: ResourceList;
  maxLimitRequestRatio?: ResourceList;
}

export interface LimitRange extends KubeObject {
  spec: { limits?: LimitRangeItem[] | null };
}
