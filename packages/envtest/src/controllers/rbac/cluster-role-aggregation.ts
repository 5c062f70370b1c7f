import { isDeepStrictEqual } from 'node:util';
import {
  Applier,
  Controller,
  type KubeObject,
  type LabelSelector,
  matcherFromSelector,
  type Resource,
} from '@tidegate/kube';
import type { MakeController } from '../context.ts';

interface ClusterRole extends KubeObject {
  rules?: object[] | null;
  aggregationRule?: { clusterRoleSelectors?: LabelSelector[] };
}

const CLUSTER_ROLES: Resource<ClusterRole> = {
  group: 'rbac.authorization.k8s.io',
  version: 'v1',
  resource: 'clusterroles',
  namespaced: false,
};

const AGGREGATED = 'aggregated';
const ALL = 'all';

const selectorsOf = ({ aggregationRule }: ClusterRole): LabelSelector[] =>
  aggregationRule?.clusterRoleSelectors ?? [];

/** Sets the rules of a ClusterRole that has an aggregationRule to the rules of all ClusterRoles that it selects. */
export const clusterRoleAggregationController: MakeController = (context) => {
  const { client, informers, clock, metrics, log } = context;
  const roles = informers.for(CLUSTER_ROLES);
  roles.addIndex(AGGREGATED, (role) => (selectorsOf(role).length > 0 ? [ALL] : []));
  const applier = new Applier(client, 'clusterrole-aggregation-controller');

  async function reconcile(name: string, signal: AbortSignal): Promise<void> {
    const role = roles.cache.get(name);
    if (role === undefined || selectorsOf(role).length === 0) return;
    const rules = rulesFor(role, roles.cache.list());
    if (isDeepStrictEqual(rules, role.rules ?? [])) return;
    const { apiVersion, kind } = role;
    await applier.apply({ apiVersion, kind, metadata: { name }, rules }, { resource: CLUSTER_ROLES, signal });
  }

  return new Controller({ name: 'clusterrole-aggregation', reconcile, clock, metrics, log }).watch(
    roles,
    () => roles.cache.byIndex(AGGREGATED, ALL).map(({ metadata }) => metadata.name ?? ''),
  );
};

/** Sorted by role name and without duplicates, so that the result does not depend on the order of events. */
function rulesFor(role: ClusterRole, all: Iterable<ClusterRole>): object[] {
  const matchers = selectorsOf(role).map(matcherFromSelector);
  const selected = [...all]
    .filter(({ metadata }) => metadata.name !== role.metadata.name)
    .filter(({ metadata }) => matchers.some((matcher) => matcher.matches(metadata.labels ?? {})))
    .toSorted((a, b) => ((a.metadata.name ?? '') < (b.metadata.name ?? '') ? -1 : 1));
  const rules: object[] = [];
  for (const rule of selected.flatMap(({ rules }) => rules ?? [])) {
    if (!rules.some((known) => isDeepStrictEqual(known, rule))) rules.push(rule);
  }
  return rules;
}
