import type { KubeObject } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import { listAt, without } from '../json.ts';
import { CONTAINER_LISTS, OverrideError, type Rule, rulesOf } from '../overriders/index.ts';
import { type Workload, workloadOf } from '../workloads.ts';
import type { RenderBudget } from './budget.ts';
import { type Manifest, manifestPath } from './decode.ts';
import { editionOf, NodeSelectorConflict, placementCost } from './edition.ts';
import { otherEditionOf } from './other-edition.ts';
import { autoscalerOf } from './per-edition.ts';
import { namesIn, withReferences } from './references.ts';
import type { RenderError, Rendered, RenderResult } from './result.ts';
import { isService, scoped } from './service-scope.ts';
import type { Target } from './targets.ts';

/**
 * Counts what all rules of all targets will cost at least. This runs before the first rule is applied, so that an
 * application that costs too much costs nothing.
 */
export function chargeRules(
  manifests: readonly Manifest[],
  targets: readonly Target[],
  budget: RenderBudget,
): void {
  const rules = targets.reduce((sum, { overriders }) => sum + rulesOf(overriders).length, 0);
  for (const { object, bytes } of manifests) {
    const pod = workloadOf(object)?.pod;
    const containers = CONTAINER_LISTS.map((list) =>
      pod === undefined ? 0 : listAt(object, [...pod, 'spec', list]).length,
    );
    budget.rules(rules, { containers: containers.reduce((sum, one) => sum + one, 0), bytes });
  }
}

/**
 * Renders the editions of all objects that have editions, for one target.
 *
 * A rule that matches no object is a mistake, for example a container name with a typo. Then the target gets no
 * editions: pods without the requested change must not replace running pods. Whether a rule matches is only certain if
 * all manifests could be decoded (`complete`); otherwise unused rules are not reported.
 */
export function* renderTarget(
  { metadata }: EdgeApplication,
  manifests: readonly Manifest[],
  target: Target,
  { complete, budget }: { complete: boolean; budget: RenderBudget },
): Generator<undefined, RenderResult, undefined> {
  const rules = rulesOf(target.overriders);
  const used = new Set<Rule>();
  const objects: Rendered[] = [];
  const errors: RenderError[] = [];
  const { edition } = target;
  const application = metadata.name ?? '';
  const rename = namesIn(manifests, target);
  const hasServices = manifests.some(({ object }) => isService(object));
  const build = (object: KubeObject, workload: Workload | undefined): KubeObject => {
    budget.steps(workload === undefined ? 1 : placementCost(object, workload, target));
    if (workload !== undefined) return editionOf(object, workload, target, application);
    const built = otherEditionOf(object, edition, application, { hasServices });
    return isService(built) ? scoped(built, [target]) : built;
  };
  for (const { ordinal, object } of manifests) {
    const workload = workloadOf(object);
    budget.object();
    const overridden = yield* override(object, workload, rules, used, budget);
    if ('message' in overridden) {
      const path = `${target.path}.overriders.${overridden.rule.path}`;
      errors.push({ ordinal, edition, path, message: overridden.message });
      continue;
    }
    const autoscaler = workload?.replicas ? autoscalerOf(object, manifests) : undefined;
    if (autoscaler !== undefined && typeof target.overriders.replicas === 'number') {
      const message = `${object.kind} ${object.metadata.name}: ${autoscaler.kind} ${autoscaler.metadata.name} decides the replicas: remove replicas, and change the limits of the autoscaler with patchOverriders`;
      errors.push({ ordinal, edition, path: `${target.path}.overriders.replicas`, message });
      continue;
    }
    try {
      yield;
      const rendered = withReferences(
        build(autoscaler === undefined ? overridden.object : unscaled(overridden.object), workload),
        rename,
      );
      const problem = budget.problemOf(rendered);
      if (problem === undefined) objects.push({ ordinal, edition, object: rendered });
      else {
        const path = rules.length === 0 ? manifestPath(ordinal) : `${target.path}.overriders`;
        errors.push({
          ordinal,
          edition,
          path,
          message: `${object.kind} ${object.metadata.name}: ${problem}`,
        });
      }
    } catch (error) {
      if (!(error instanceof NodeSelectorConflict)) throw error;
      const path = [manifestPath(ordinal), ...error.path].join('.');
      errors.push({ ordinal, edition, path, message: error.message });
    }
  }
  const unused = rules.filter((rule) => !used.has(rule));
  if (errors.length > 0 || unused.length === 0 || !complete) return { objects, errors };
  return {
    objects: [],
    errors: unused.slice(0, MOST_UNUSED).flatMap((rule) => unusedErrors(rule, manifests, target)),
  };
}

/** If the manager applied the replicas, it would undo each decision of the autoscaler. */
const unscaled = (workload: KubeObject): KubeObject => without(workload, ['spec', 'replicas']);

/** Of the unused rules of a target. All of them for all manifests could be millions of errors. */
const MOST_UNUSED = 10;

/** Applies all rules to one object. Adds the rules that match it to `used`. */
function* override(
  manifest: KubeObject,
  workload: Workload | undefined,
  rules: readonly Rule[],
  used: Set<Rule>,
  budget: RenderBudget,
): Generator<undefined, { object: KubeObject } | { rule: Rule; message: string }, undefined> {
  const failed = (rule: Rule, path: string, message: string) => ({
    rule,
    message: `${manifest.kind} ${manifest.metadata.name}, ${path}: ${message}`,
  });
  const charge = (steps: number): void => budget.steps(steps);
  let object = manifest;
  for (const rule of rules) {
    yield;
    const changed = rule.apply(object, workload, charge);
    if (changed !== undefined) used.add(rule);
    if (changed instanceof OverrideError) return failed(rule, changed.path, changed.message);
    object = changed ?? object;
    // Patches can double an object. What other rules add is as large as the rule, so the sum is checked in the edition.
    const problem = rule.path.startsWith('patchOverriders') ? budget.problemOf(object) : undefined;
    if (problem !== undefined) return failed(rule, '', problem);
  }
  return { object };
}

/** Reports an unused rule for each object, because the edition of each is missing. */
function unusedErrors(rule: Rule, manifests: readonly Manifest[], target: Target): RenderError[] {
  const error = {
    edition: target.edition,
    path: `${target.path}.overriders.${rule.path}`,
    message: rule.unused,
  };
  return manifests.length === 0 ? [error] : manifests.map(({ ordinal }) => ({ ordinal, ...error }));
}
