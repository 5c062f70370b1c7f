/** The objects of an application during a rollout: each site has those of its own revision. */
import type { EdgeApplication } from '../../api/index.ts';
import { identityOf } from '../render/collisions.ts';
import { renderSteps } from '../render/render.ts';
import type { RenderError, Rendered, RenderResult } from '../render/result.ts';
import type { ScopeOf } from '../render/scopes.ts';
import { inSlices } from '../render/slices.ts';
import type { Target } from '../render/targets.ts';
import type { RevisionContent } from './contents.ts';
import type { RolloutPlan } from './plan.ts';

/** A plan, and the contents of the revisions in it, except for the current one. */
export interface Stage {
  readonly plan: RolloutPlan;
  readonly contents: ReadonlyMap<string, RevisionContent>;
}

/** The application with the content of another revision. */
export const withContent = (application: EdgeApplication, content: RevisionContent): EdgeApplication => ({
  ...application,
  spec: { ...content, ...(application.spec.rollout && { rollout: application.spec.rollout }) },
});

/**
 * Sites that keep what they have, although nothing is rendered for them: the rollout has not reached them, and their old content is
 * not known, because it is older than the rollout or because a user has deleted the revision.
 */
export const sitesWithoutContent = (
  targets: readonly Target[],
  { plan: { revisions, status }, contents }: Stage,
): Set<string> =>
  new Set(
    targets
      .map(({ edition }) => edition)
      .filter((edition) => {
        const revision = revisions.get(edition);
        return revision === undefined || (revision !== status.revision && !contents.has(revision));
      }),
  );

/**
 * Objects that all sites share stay as they were until the last wave starts, because sites with the old revision use them.
 * New ones are applied at once, because sites with the new revision need them.
 */
export async function renderStaged(
  application: EdgeApplication,
  { plan, contents }: Stage,
  targetsOf: (application: EdgeApplication) => readonly Target[],
  scopeOf: ScopeOf,
): Promise<RenderResult> {
  const { revision, stableRevision, wave } = plan.status;
  const isLastWave = wave >= (application.spec.rollout?.waves ?? []).length;
  const render = (of: EdgeApplication): Promise<RenderResult> =>
    inSlices(renderSteps(of, targetsOf(of), scopeOf));
  const siteObjects = ({ objects }: RenderResult, name: string): Rendered[] =>
    objects.filter(({ edition }) => edition !== undefined && plan.revisions.get(edition) === name);
  const sharedObjects = ({ objects }: RenderResult): Rendered[] =>
    objects.filter(({ edition }) => edition === undefined);
  const current = await render(application);
  const objects = siteObjects(current, revision);
  const errors: RenderError[] = [...current.errors];
  let shared = sharedObjects(current);
  for (const [name, content] of contents) {
    const old = await render(withContent(application, content));
    objects.push(...siteObjects(old, name));
    // An old manifest has no place in the spec. Nothing is deleted while there are errors.
    errors.push(...old.errors.map(({ path, message }) => ({ path: `revision ${name}: ${path}`, message })));
    if (name !== stableRevision || isLastWave) continue;
    const kept = sharedObjects(old);
    const known = new Set(kept.map(({ object }) => identityOf(object)));
    shared = [...kept, ...shared.filter(({ object }) => !known.has(identityOf(object)))];
  }
  return { objects: [...shared, ...objects], errors };
}
