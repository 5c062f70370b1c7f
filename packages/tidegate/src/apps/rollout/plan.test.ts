import { describe, expect, it } from 'vitest';
import type { Rollout, RolloutStatus } from '../../api/index.ts';
import { advanceRollout, msToDeadline, planRollout, type RolloutSite } from './plan.ts';

const sites: RolloutSite[] = [
  { name: 'pilot', labels: { wave: 'pilot' } },
  { name: 'shop-1', labels: { wave: 'shops' } },
  { name: 'shop-2', labels: { wave: 'shops' } },
  { name: 'depot', labels: {} },
];
const rollout: Rollout = {
  waves: [
    { name: 'pilot', poolSelector: { matchLabels: { wave: 'pilot' } } },
    { name: 'shops', poolSelector: { matchLabels: { wave: 'shops' } } },
  ],
  deadlineSeconds: 60,
};

/** A cluster in which sites become available or not; each step is one reconcile. */
class Cluster {
  status: RolloutStatus | undefined;
  now = 0;
  broken = new Set<string>();
  revisions: ReadonlyMap<string, string> = new Map();

  step(revision: string, how: Rollout = rollout): string {
    const plan = planRollout(how, sites, revision, this.status, this.now);
    this.revisions = plan.revisions;
    this.status = advanceRollout(how, plan, (name) => !this.broken.has(name), this.now);
    return `${this.status.phase} ${this.status.waveName}`;
  }

  until(revision: string, how?: Rollout): string {
    let before = '';
    for (;;) {
      const now = this.step(revision, how);
      if (now === before) return now;
      before = now;
    }
  }

  of(...names: string[]): (string | undefined)[] {
    return names.map((name) => this.revisions.get(name));
  }
}

const deployed = (): Cluster => {
  const cluster = new Cluster();
  expect(cluster.until('v1')).toBe('Complete others');
  return cluster;
};
const ALL = ['pilot', 'shop-1', 'shop-2', 'depot'];

describe('a rollout', () => {
  it('reaches the sites in waves, and sites of no wave last', () => {
    const cluster = deployed();
    expect(cluster.step('v2')).toBe('Progressing shops');
    expect(cluster.of(...ALL)).toEqual(['v2', 'v1', 'v1', 'v1']);
    expect(cluster.step('v2')).toBe('Progressing others');
    expect(cluster.of(...ALL)).toEqual(['v2', 'v2', 'v2', 'v1']);
    expect(cluster.until('v2')).toBe('Complete others');
    expect(cluster.of(...ALL)).toEqual(['v2', 'v2', 'v2', 'v2']);
  });

  it('stops when a wave does not become available in time, and resumes when it is', () => {
    const cluster = deployed();
    cluster.broken.add('shop-2');
    expect(cluster.until('v2')).toBe('Progressing shops');
    expect(msToDeadline(rollout, cluster.status!, cluster.now)).toBe(60_000);
    cluster.now += 60_000;
    expect(cluster.step('v2')).toBe('Stopped shops');
    expect(cluster.status?.message).toContain('not available after 60 seconds: shop-2');
    expect(cluster.of('depot')).toEqual(['v1']);
    cluster.broken.clear();
    expect(cluster.until('v2')).toBe('Complete others');
  });

  it('tolerates as many unavailable sites as allowed', () => {
    const cluster = deployed();
    cluster.broken.add('shop-2');
    expect(cluster.until('v2', { ...rollout, maxUnavailable: 1 })).toBe('Complete others');
  });

  it('goes back everywhere at once, to what all sites had', () => {
    const cluster = deployed();
    cluster.broken.add('pilot');
    expect(cluster.until('v2')).toBe('Progressing pilot');
    cluster.broken.clear();
    expect(cluster.step('v1')).toBe('Complete others');
    expect(cluster.of(...ALL)).toEqual(['v1', 'v1', 'v1', 'v1']);
  });

  it('replaces a rollout that has not ended: sites that were not reached keep what they have', () => {
    const cluster = deployed();
    cluster.broken.add('pilot');
    cluster.until('v2');
    expect(cluster.step('v3')).toBe('Progressing pilot');
    expect(cluster.of(...ALL)).toEqual(['v3', 'v1', 'v1', 'v1']);
  });

  it('pauses after a wave, and whenever it is paused', () => {
    const cluster = deployed();
    const [pilot, shops] = rollout.waves!;
    const pausing = { ...rollout, waves: [{ ...pilot!, pause: true }, shops!] };
    expect(cluster.until('v2', pausing)).toBe('Paused pilot');
    expect(cluster.of('shop-1')).toEqual(['v1']);
    expect(cluster.step('v2')).toBe('Progressing shops');
    expect(cluster.until('v2', { ...rollout, paused: true })).toBe('Paused shops');
    expect(cluster.until('v2')).toBe('Complete others');
  });

  it('leaves out held sites, also in later rollouts, until they are released', () => {
    const cluster = deployed();
    const holding = { ...rollout, hold: ['shop-1'] };
    expect(cluster.until('v2', holding)).toBe('Complete others');
    expect(cluster.until('v3', holding)).toBe('Complete others');
    expect(cluster.of(...ALL)).toEqual(['v3', 'v1', 'v3', 'v3']);
    expect(cluster.status?.held).toEqual([{ name: 'shop-1', revision: 'v1' }]);
    expect(cluster.until('v3')).toBe('Complete others');
    expect(cluster.of('shop-1')).toEqual(['v3']);
    expect(cluster.status?.held).toBeUndefined();
  });

  it('leaves out a site that is held from the beginning', () => {
    const cluster = new Cluster();
    const holding = { ...rollout, hold: ['shop-1'] };
    expect(cluster.until('v1', holding)).toBe('Complete others');
    expect(cluster.until('v2', holding)).toBe('Complete others');
    expect(cluster.of(...ALL)).toEqual(['v2', undefined, 'v2', 'v2']);
  });

  it('reaches the sites in waves when the application is new, too', () => {
    const cluster = new Cluster();
    cluster.broken.add('pilot');
    expect(cluster.until('v1')).toBe('Progressing pilot');
    expect(cluster.of(...ALL)).toEqual(['v1', undefined, undefined, undefined]);
  });
});
