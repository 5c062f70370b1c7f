/** What has become of a policy. Pure. */
import { setCondition } from '@tidegate/kube';
import {
  type AttachedPolicy,
  type Condition,
  GUARD_SECTIONS,
  type L7Router,
  type PolicySectionName,
  type PolicyTarget,
} from '../../api/index.ts';
import { type PolicyIndex, type ReadPolicy, type Scope, scopeOf } from '../attached-policies/index.ts';
import { policyProblems } from '../compile/index.ts';

/** The state of the cluster that the status depends on. */
export interface StatusFacts {
  readonly index: PolicyIndex;
  ingress(key: string): unknown;
  class(name: string): unknown;
  /** Routers that report which policies they have applied. */
  readonly routers: readonly L7Router[];
  readonly now: number;
}

type NewCondition = Omit<Condition, 'lastTransitionTime' | 'observedGeneration'>;

export function policyStatus(
  { metadata: { generation = 0 }, status }: AttachedPolicy,
  policy: ReadPolicy,
  facts: StatusFacts,
): NonNullable<AttachedPolicy['status']> {
  const update = (conditions: readonly Condition[] | undefined, next: NewCondition): Condition[] =>
    setCondition(
      [...(conditions ?? [])],
      { ...next, observedGeneration: generation },
      facts.now,
    ) as Condition[];
  const targets = policy.targets.map((target) => ({
    ...nameOf(policy, target),
    next: acceptedAt(policy, target, facts),
  }));
  const refused = targets.find(({ next }) => next.status !== 'True')?.next;
  const accepted = refused ?? {
    type: 'Accepted',
    status: 'True' as const,
    reason: targets.length === 0 ? 'NoTargets' : 'Accepted',
    message:
      targets.length === 0
        ? 'The policy has no targets, and no effect.'
        : 'The policy applies to all targets.',
  };
  const conditions = update(status?.conditions, accepted);
  return {
    observedGeneration: generation,
    conditions: update(conditions, appliedBy(status?.conditions, generation, facts)),
    targets: targets.map(({ kind, name, next }) => {
      const before = status?.targets?.find((each) => each.kind === kind && each.name === name);
      return { kind, name, conditions: update(before?.conditions, next) };
    }),
  };
}

const nameOf = ({ namespace }: ReadPolicy, { kind, name }: PolicyTarget): { kind: string; name: string } => ({
  kind,
  name: name ?? namespace ?? '',
});

function acceptedAt(policy: ReadPolicy, target: PolicyTarget, facts: StatusFacts): NewCondition {
  const not = (reason: string, message: string): NewCondition => ({
    type: 'Accepted',
    status: 'False',
    reason,
    message,
  });
  const scope = scopeOf(policy, target);
  if (scope === undefined)
    return not('InvalidTarget', `A policy of this kind cannot have a target of kind ${target.kind}.`);
  const [problem] = policyProblems(policy);
  if (problem !== undefined) return not('Invalid', `${problem.field}: ${problem.message}`);
  if (isMissing(scope, facts))
    return not(
      'TargetNotFound',
      `${target.kind} ${target.name} does not exist. The policy applies as soon as it does.`,
    );
  const lost = lostSections(policy, scope, facts.index);
  if (lost !== undefined)
    return not(
      'Conflicted',
      `${lost.winner} is older and sets ${lost.sections.join(', ')} for the same target, so these sections do not apply. All others do.`,
    );
  return {
    type: 'Accepted',
    status: 'True',
    reason: 'Accepted',
    message: 'The policy applies to the target.',
  };
}

/** Whether a namespace exists is not known: the manager does not read namespaces. */
function isMissing(scope: Scope, facts: StatusFacts): boolean {
  const [kind, name = ''] = scope.split(' ');
  if (kind === 'class') return facts.class(name) === undefined;
  return kind === 'ingress' && facts.ingress(name) === undefined;
}

/** Settings that an older policy of the same level sets too. Guards of both apply. */
function lostSections(
  policy: ReadPolicy,
  scope: Scope,
  index: PolicyIndex,
): { winner: string; sections: PolicySectionName[] } | undefined {
  const same = index.at(scope).map((each) => each.policy);
  const level = same.filter(
    ({ namespace }) => (namespace === undefined) === (policy.namespace === undefined),
  );
  const older = level.slice(level.findIndex(({ id }) => id === policy.id) + 1);
  for (const other of older) {
    const sections = policy.sections.filter(
      (name) => !GUARD_SECTIONS.includes(name) && other.sections.includes(name),
    );
    if (sections.length > 0) return { winner: other.id, sections };
  }
  return undefined;
}

/** What routers have reported about this generation of the policy. Once all have applied it, that does not change. */
function appliedBy(
  conditions: readonly Condition[] | undefined,
  generation: number,
  { index, routers }: StatusFacts,
): NewCondition {
  const before = conditions?.find(({ type }) => type === 'Applied');
  if (before?.status === 'True' && before.observedGeneration === generation) {
    const { type, status, reason = '', message = '' } = before;
    return { type, status, reason, message };
  }
  const reports = routers.flatMap(({ metadata, status }) =>
    (status?.agents ?? []).map(({ policies = '' }) => ({ router: `${metadata.name}`, policies })),
  );
  const waiting = [
    ...new Set(reports.filter(({ policies }) => policies !== index.digest).map(({ router }) => router)),
  ];
  if (reports.length === 0)
    return {
      type: 'Applied',
      status: 'Unknown',
      reason: 'NoRouters',
      message: 'No router has reported yet.',
    };
  if (waiting.length === 0)
    return {
      type: 'Applied',
      status: 'True',
      reason: 'Applied',
      message: 'All routers have applied the policy.',
    };
  const shown = waiting.slice(0, MOST_SHOWN).join(', ');
  const more = waiting.length > MOST_SHOWN ? ` and ${waiting.length - MOST_SHOWN} more` : '';
  return {
    type: 'Applied',
    status: 'False',
    reason: 'Waiting',
    message: `Routers that have not reported the current policies yet: ${shown}${more}.`,
  };
}

const MOST_SHOWN = 5;
