import type { KubeObject } from '@tidegate/kube';
import type { EdgeApplication } from '../../api/index.ts';
import { OverrideError, type Rule, rulesOf } from '../overriders/index.ts';
import { type Workload, workloadOf } from '../workloads.ts';
import { type Manifest, manifestPath } from './decode.ts';
import { editionOf, NodeSelectorConflict } from './edition.ts';
import type { RenderError, Rendered, RenderResult } from './result.ts';
import type { Target } from './targets.ts';

/**
 * Renders the editions of all workloads for one target.
 *
 * A rule that matches no workload is a mistake, for example a container name with a typo. Then the target gets no
 * editions: pods without the requested change must not replace running pods. Whether a rule matches is only certain if
 * all manifests could be decoded (`complete`); otherwise unused rules are not reported.
 */
export function renderTarget(
  { metadata }: EdgeApplication,
  manifests: readonly Manifest[],
  target: Target,
  complete: boolean,
): RenderResult {
  const rules = rulesOf(target.overriders);
  const used = new Set<Rule>();
  const objects: Rendered[] = [];
  const errors: RenderError[] = [];
  const { edition } = target;
  for (const { ordinal, object } of manifests) {
    const workload = workloadOf(object)!;
    const overridden = override(object, workload, rules, used);
    if ('message' in overridden) {
      const path = `${target.path}.overriders.${overridden.rule.path}`;
      errors.push({ ordinal, edition, path, message: overridden.message });
      continue;
    }
    try {
      objects.push({
        ordinal,
        edition,
        object: editionOf(overridden.object, workload, target, metadata.name ?? ''),
      });
    } catch (error) {
      if (!(error instanceof NodeSelectorConflict)) throw error;
      const path = [manifestPath(ordinal), ...error.path].join('.');
      errors.push({ ordinal, edition, path, message: error.message });
    }
  }
  const unused = rules.filter((rule) => !used.has(rule));
  if (errors.length > 0 || unused.length === 0 || !complete) return { objects, errors };
  return { objects: [], errors: unused.flatMap((rule) => unusedErrors(rule, manifests, target)) };
}

/** Applies all rules to one workload. Adds the rules that match it to `used`. */
function override(
  manifest: KubeObject,
  workload: Workload,
  rules: readonly Rule[],
  used: Set<Rule>,
): { object: KubeObject } | { rule: Rule; message: string } {
  let object = manifest;
  for (const rule of rules) {
    const changed = rule.apply(object, workload);
    if (changed === undefined) continue;
    used.add(rule);
    if (changed instanceof OverrideError) {
      const { kind, metadata } = manifest;
      return { rule, message: `${kind} ${metadata.name}, ${changed.path}: ${changed.message}` };
    }
    object = changed;
  }
  return { object };
}

/** Reports an unused rule for each workload, because the edition of each is missing. */
function unusedErrors(rule: Rule, manifests: readonly Manifest[], target: Target): RenderError[] {
  const error = {
    edition: target.edition,
    path: `${target.path}.overriders.${rule.path}`,
    message: rule.unused,
  };
  return manifests.length === 0 ? [error] : manifests.map(({ ordinal }) => ({ ordinal, ...error }));
}
