/** The rollout of an EdgeApplication: a change reaches its sites in waves. */
import type { LabelSelector } from './object.ts';
import { flag, integer, labelSelector, list, listMap, object, type Schema, text } from './schema.ts';

/** Sites that get a change together. */
export type RolloutWave = { name: string; poolSelector?: LabelSelector; pause?: boolean };

export type Rollout = {
  waves?: RolloutWave[];
  paused?: boolean;
  maxUnavailable?: number;
  deadlineSeconds?: number;
  /** Names of sites that keep what they have. */
  hold?: string[];
};

export type RolloutPhase = 'Progressing' | 'Paused' | 'Stopped' | 'Complete';

export type RolloutStatus = {
  /** Name of the ControllerRevision that the rollout leads to. */
  revision: string;
  /** Name of the ControllerRevision that all sites had before. Absent before the first rollout is complete. */
  stableRevision?: string;
  /** Index of the wave. The sites of this wave and of those before it have the new revision. */
  wave: number;
  waveName: string;
  waveStartTime: string;
  phase: RolloutPhase;
  message: string;
  updatedSites: number;
  availableSites: number;
  totalSites: number;
  /** Sites that are held, and the revision that each has. */
  held?: { name: string; revision: string }[];
};

const MOST_SITES = 1_000;

export const rollout = (): Schema =>
  object('How a change reaches the sites. Default: all sites at once.', {
    waves: listMap(
      'Waves, in order. A wave starts when the sites of the wave before are available. Sites of no wave are last.',
      'name',
      object(
        'A wave.',
        {
          name: text('Name of the wave.', { minLength: 1, maxLength: 63 }),
          poolSelector: labelSelector('Selects sites by the labels of their NodePool or NodeGroup.'),
          pause: flag('Stop after this wave, until the field is removed.'),
        },
        { required: ['name'] },
      ),
    ),
    paused: flag('Start no further wave.'),
    maxUnavailable: integer(
      'Number of sites with the new revision that may be unavailable when the next wave starts. Sites that are disconnected are unavailable. Default: 0.',
      { minimum: 0 },
    ),
    deadlineSeconds: integer(
      'Time in which a wave must become available. Then the rollout stops; it resumes when the sites are available. Default: 600.',
      { minimum: 1 },
    ),
    hold: list(
      'Names of sites that keep what they have, until they are removed from this list.',
      { type: 'string', minLength: 1, maxLength: 63 },
      { maxItems: MOST_SITES },
    ),
  });

export const rolloutStatus = (): Schema =>
  object('State of the rollout.', {
    revision: text('Name of the ControllerRevision that the rollout leads to.'),
    stableRevision: text('Name of the ControllerRevision that all sites had before.'),
    wave: integer('Index of the current wave.'),
    waveName: text('Name of the current wave.'),
    waveStartTime: text('Time at which the wave started.', { format: 'date-time' }),
    phase: text('Progressing, Paused, Stopped or Complete.'),
    message: text('Human-readable explanation.'),
    updatedSites: integer('Number of sites that have the new revision.'),
    availableSites: integer('Number of sites that have the new revision and are available.'),
    totalSites: integer('Number of sites.'),
    held: list(
      'Sites that are held.',
      object('A site.', {
        name: text('Name of the site.'),
        revision: text(
          'Name of the ControllerRevision that the site has, or unknown if it is older than the rollout.',
        ),
      }),
    ),
  });
