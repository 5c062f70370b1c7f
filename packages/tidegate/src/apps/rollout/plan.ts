/** Which site gets which revision of an application, and when the next wave starts. Pure. */
import { matcherFromSelector, SelectorError } from '@tidegate/kube';
import type { Rollout, RolloutPhase, RolloutStatus } from '../../api/index.ts';

/** A target of the application. */
export interface RolloutSite {
  /** The name of the edition. */
  readonly name: string;
  /** The labels of its NodePool or NodeGroup. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The revision of each site. Sites without one get nothing yet. */
export interface RolloutPlan {
  readonly status: RolloutStatus;
  readonly revisions: ReadonlyMap<string, string>;
}

const LAST_WAVE = 'others';
/** The revision of a held site that had nothing yet, or something older than the rollout. It stays as it is. */
const UNKNOWN = 'unknown';
const DEFAULT_DEADLINE_SECONDS = 600;
const MOST_NAMED = 5;

/** The wave of a site: the first that selects it. A wave without a selector selects all sites. */
export function waveOf({ waves = [] }: Rollout, { labels }: RolloutSite): number {
  const found = waves.findIndex(({ poolSelector }) => {
    try {
      return poolSelector === undefined || matcherFromSelector(poolSelector).matches(labels);
    } catch (error) {
      // A selector that is not valid selects no site, so its sites are last.
      if (!(error instanceof SelectorError)) throw error;
      return false;
    }
  });
  return found < 0 ? waves.length : found;
}

export const nameOfWave = ({ waves = [] }: Rollout, index: number): string => waves[index]?.name ?? LAST_WAVE;

/**
 * Starts a rollout if the revision is new, and assigns a revision to each site. A rollout back to the stable revision needs no
 * waves: most sites have it already, and the others are to leave what was wrong.
 */
export function planRollout(
  rollout: Rollout,
  sites: readonly RolloutSite[],
  revision: string,
  before: RolloutStatus | undefined,
  now: number,
): RolloutPlan {
  const isSame = before?.revision === revision;
  const stable = before?.phase === 'Complete' ? before.revision : before?.stableRevision;
  const stableRevision = isSame ? before.stableRevision : stable;
  const last = (rollout.waves ?? []).length;
  const first = stableRevision === revision ? last : 0;
  const wave = isSame ? Math.min(before.wave, last) : first;
  const held = heldSites(rollout, sites, before);
  const revisions = new Map<string, string>();
  for (const site of sites) {
    const frozen = held.get(site.name);
    if (frozen !== undefined) {
      if (frozen !== UNKNOWN) revisions.set(site.name, frozen);
    } else if (waveOf(rollout, site) <= wave) revisions.set(site.name, revision);
    else if (stableRevision !== undefined) revisions.set(site.name, stableRevision);
  }
  const entries = [...held].map(([name, frozen]) => ({ name, revision: frozen }));
  return {
    revisions,
    status: {
      revision,
      ...(stableRevision !== undefined && { stableRevision }),
      wave,
      waveName: nameOfWave(rollout, wave),
      waveStartTime: isSame ? before.waveStartTime : timeText(now),
      phase: isSame ? before.phase : 'Progressing',
      message: isSame ? before.message : '',
      updatedSites: [...revisions.values()].filter((each) => each === revision).length,
      availableSites: 0,
      totalSites: sites.length,
      ...(entries.length > 0 && { held: entries }),
    },
  };
}

/** The revision that each held site had when it was held. */
function heldSites(
  rollout: Rollout,
  sites: readonly RolloutSite[],
  before: RolloutStatus | undefined,
): Map<string, string> {
  const frozen = new Map((before?.held ?? []).map(({ name, revision }) => [name, revision]));
  const held = new Map<string, string>();
  for (const site of sites) {
    if (!rollout.hold?.includes(site.name)) continue;
    const reached = before !== undefined && waveOf(rollout, site) <= before.wave;
    const had = reached ? before.revision : before?.stableRevision;
    held.set(site.name, frozen.get(site.name) ?? had ?? UNKNOWN);
  }
  return held;
}

/** Computes the phase from the sites that are available, and starts the next wave. */
export function advanceRollout(
  rollout: Rollout,
  { status, revisions }: RolloutPlan,
  isAvailable: (site: string) => boolean,
  now: number,
): RolloutStatus {
  const updated = [...revisions].filter(([, each]) => each === status.revision).map(([name]) => name);
  const waiting = updated.filter((name) => !isAvailable(name));
  const last = (rollout.waves ?? []).length;
  const counted = { ...status, availableSites: updated.length - waiting.length };
  const at = (phase: RolloutPhase, message: string): RolloutStatus => ({ ...counted, phase, message });
  const where = `wave ${status.waveName} (${status.wave + 1} of ${last + 1})`;
  if (waiting.length > (rollout.maxUnavailable ?? 0)) {
    if (status.phase === 'Complete') return at('Complete', `waiting for ${named(waiting)}`);
    const deadline = rollout.deadlineSeconds ?? DEFAULT_DEADLINE_SECONDS;
    const isLate = now >= Date.parse(status.waveStartTime) + deadline * 1000;
    if (isLate)
      return at(
        'Stopped',
        `${where}: not available after ${deadline} seconds: ${named(waiting)}; the rollout resumes when they are available; to go back, run tidegate rollout undo`,
      );
    return at('Progressing', `${where}: waiting for ${named(waiting)}`);
  }
  if (status.wave >= last) return at('Complete', `${updated.length} sites have the revision`);
  if (rollout.paused)
    return at('Paused', `${where} is available; the rollout is paused (spec.rollout.paused)`);
  if (rollout.waves?.[status.wave]?.pause)
    return at(
      'Paused',
      `${where} is available; the rollout pauses after this wave (spec.rollout.waves[${status.wave}].pause)`,
    );
  const wave = status.wave + 1;
  return {
    ...counted,
    wave,
    waveName: nameOfWave(rollout, wave),
    waveStartTime: timeText(now),
    phase: 'Progressing',
    message: `wave ${nameOfWave(rollout, wave)} (${wave + 1} of ${last + 1}) starts`,
  };
}

/** When to look again, if nothing changes. */
export function msToDeadline(rollout: Rollout, status: RolloutStatus, now: number): number | undefined {
  if (status.phase !== 'Progressing') return undefined;
  const deadline = (rollout.deadlineSeconds ?? DEFAULT_DEADLINE_SECONDS) * 1000;
  return Math.max(0, Date.parse(status.waveStartTime) + deadline - now);
}

function named(sites: readonly string[]): string {
  const shown = sites.toSorted().slice(0, MOST_NAMED).join(', ');
  const rest = sites.length - MOST_NAMED;
  return rest > 0 ? `${shown} and ${rest} more` : shown;
}

const timeText = (now: number): string => new Date(now).toISOString().replace(/\.\d+Z$/, 'Z');
