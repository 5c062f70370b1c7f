/**
 * Decides which host is on which router of a family. The state is kept between plans, so that a plan costs as much as the
 * change.
 *
 * A group of hosts moves in four steps, so that it is served at both addresses at all times (make before break):
 *   1. The plan adds the hosts to the new router and lists them in `leaving` of the old one. Both serve them.
 *   2. The new router reports that it serves its current generation. The status of Ingresses changes to its address.
 *   3. The drain time begins: clients use old DNS records.
 *   4. The drain time is over. If the new router still serves, the hosts are removed from the old one.
 * If the new router disappears before step 4, the move is canceled and the hosts stay.
 */

import type { RouterCapacity } from '../../api/index.ts';
import type { HostName } from '../model.ts';
import { type HostGroup, HostGroups } from './host-groups.ts';
import { excess, minus, NOTHING, plus, type Size } from './size.ts';

/** A router that exists. */
export interface PlacedRouter {
  readonly name: string;
  /** Changes with every change of the two lists. */
  readonly version: string;
  /** All hosts on the router, including those in `leaving`. */
  readonly hosts: readonly HostName[];
  /** Hosts that are moving to another router. */
  readonly leaving: readonly HostName[];
  /** Recorded times since which other routers serve hosts in `leaving`. */
  readonly drains?: ReadonlyMap<HostName, number>;
  /** It serves its current generation. */
  readonly serving: boolean;
  /** It is being deleted and gets no hosts. Its hosts are placed on other routers. */
  readonly deleting: boolean;
}

/** Desired state of a router. Both lists are sorted. */
export interface PlannedRouter {
  readonly name: string;
  readonly hosts: readonly HostName[];
  readonly leaving: readonly HostName[];
}

export interface PlacementPlan {
  /** Routers whose lists have changed, or that are new. */
  readonly routers: readonly PlannedRouter[];
  /** Names of routers without hosts, which are deleted. */
  readonly remove: readonly string[];
  /** When the next drain time is over. */
  readonly wakeAt: number | undefined;
}

export interface PlanInput {
  readonly limits: RouterCapacity;
  /** Number of rules for all hosts. They are on every router and count on each. */
  readonly rulesForAll: number;
  /** All routers of the family, in the order in which they are filled. */
  readonly routers: readonly PlacedRouter[];
  readonly drainMs: number;
  readonly now: number;
  /** Orders new hosts, so that equal clusters get equal plans. */
  readonly compareAge: (a: HostName, b: HostName) => number;
  /** Returns an unused name for the next new router. */
  readonly newName: () => string;
}

/** A router as planned. */
class Draft {
  readonly name: string;
  version = '';
  readonly hosts = new Set<HostName>();
  /** With the time at which the new router was first seen serving the host. */
  readonly leaving = new Map<HostName, number | undefined>();
  /** Of the hosts that stay: those that leave do not count against the capacity. */
  size = NOTHING;
  serving = false;
  deleting = false;
  changed = false;

  constructor(name: string) {
    this.name = name;
  }
}

export class Placement {
  readonly groups: HostGroups;
  readonly #drafts = new Map<string, Draft>();
  /** Where each host stays. */
  readonly #homes = new Map<HostName, Draft>();
  readonly #dirty = new Set<HostGroup>();
  /** Why hosts have no router, by host. */
  readonly #refused = new Map<HostName, string>();
  #limits = '';

  constructor() {
    this.groups = new HostGroups((group) => this.#dirty.add(group));
  }

  /** Hosts that no router can take, with a sentence that contains the limit. */
  get refused(): ReadonlyMap<HostName, string> {
    return this.#refused;
  }

  put(host: HostName, size: Size): void {
    const home = this.#homes.get(host);
    if (home !== undefined) home.size = plus(minus(home.size, this.groups.sizeOf(host)), size);
    this.groups.put(host, size);
  }

  remove(host: HostName): void {
    const home = this.#homes.get(host);
    if (home !== undefined) home.size = minus(home.size, this.groups.sizeOf(host));
    this.#homes.delete(host);
    this.#refused.delete(host);
    for (const draft of this.#drafts.values()) {
      draft.leaving.delete(host);
      if (draft.hosts.delete(host)) draft.changed = true;
    }
    this.groups.remove(host);
  }

  /** Whether the router still has hosts whose new router does not serve them for long enough. */
  isDraining(router: string): boolean {
    const draft = this.#drafts.get(router);
    return draft !== undefined && draft.hosts.size > 0;
  }

  /** Since when other routers serve the hosts that leave the router. */
  drainsOf(router: string): Map<HostName, number> {
    const leaving = this.#drafts.get(router)?.leaving ?? [];
    return new Map([...leaving].flatMap(([host, since]) => (since === undefined ? [] : [[host, since]])));
  }

  plan(input: PlanInput): PlacementPlan {
    this.#adopt(input);
    const limits = JSON.stringify([input.limits, input.rulesForAll]);
    if (limits !== this.#limits) for (const host of this.#refused.keys()) this.#dirtyHost(host);
    this.#limits = limits;
    const groups = [...this.#dirty].filter(({ hosts }) => hosts.size > 0);
    this.#dirty.clear();
    if (groups.length > 1) {
      const older = (a: HostName, b: HostName): HostName => (input.compareAge(a, b) <= 0 ? a : b);
      const oldest = new Map(groups.map((group) => [group, [...group.hosts].reduce(older)]));
      groups.sort((a, b) => input.compareAge(oldest.get(a)!, oldest.get(b)!));
    }
    for (const group of groups) this.#place(group, input);
    if (input.rulesForAll > 0 && [...this.#drafts.values()].every(({ deleting }) => deleting))
      this.#newDraft(input);
    for (const draft of [...this.#drafts.values()]) this.#relieve(draft, input);
    const wakeAt = this.#drain(input);
    return { ...this.#result(input), ...{ wakeAt } };
  }

  /** Follows changes that others made to routers: in most plans there are none. */
  #adopt({ routers }: PlanInput): void {
    const names = new Set(routers.map(({ name }) => name));
    for (const [name, draft] of this.#drafts) if (!names.has(name)) this.#forget(draft);
    const adopted: Draft[] = [];
    // A host that is also on a router that is being deleted has moved to the other one.
    for (const router of routers.toSorted((a, b) => Number(a.deleting) - Number(b.deleting))) {
      const draft = this.#drafts.get(router.name) ?? new Draft(router.name);
      this.#drafts.set(router.name, draft);
      draft.serving = router.serving;
      if (draft.deleting !== router.deleting) {
        draft.deleting = router.deleting;
        for (const host of draft.hosts) this.#dirtyHost(host);
      }
      if (draft.version === router.version) continue;
      this.#adoptLists(draft, router);
      adopted.push(draft);
    }
    for (const draft of adopted) {
      // The router that a host was moving to no longer exists: the host stays.
      for (const host of [...draft.leaving.keys()]) if (!this.#homes.has(host)) this.#settle(draft, host);
    }
    if (adopted.length > 0)
      for (const host of this.groups.hosts()) if (!this.#homes.has(host)) this.#dirtyHost(host);
  }

  #adoptLists(draft: Draft, { hosts, leaving, version, drains }: PlacedRouter): void {
    const since = new Map([...(drains ?? []), ...draft.leaving]);
    this.#empty(draft);
    draft.version = version;
    draft.changed = false;
    const isLeaving = new Set(leaving);
    for (const host of hosts) {
      if (this.groups.get(host) === undefined) {
        draft.changed = true;
        continue;
      }
      draft.hosts.add(host);
      // A host is on two routers only after a write that was not observed. The second router gives it up.
      if (isLeaving.has(host) || this.#homes.has(host)) {
        draft.leaving.set(host, since.get(host));
        if (!isLeaving.has(host)) draft.changed = true;
      } else {
        this.#homes.set(host, draft);
        draft.size = plus(draft.size, this.groups.sizeOf(host));
        // Together with others that may be elsewhere.
        if ((this.groups.get(host)?.hosts.size ?? 0) > 1) this.#dirtyHost(host);
      }
    }
  }

  /** The router no longer exists. Its hosts return to the routers that they were leaving, or need a new one. */
  #forget(draft: Draft): void {
    const hosts = [...draft.hosts];
    this.#empty(draft);
    this.#drafts.delete(draft.name);
    for (const host of hosts) {
      this.#dirtyHost(host);
      const old = [...this.#drafts.values()].find((each) => each.leaving.has(host) && !each.deleting);
      if (old !== undefined && !this.#homes.has(host)) this.#settle(old, host);
    }
  }

  #empty(draft: Draft): void {
    for (const host of draft.hosts) if (this.#homes.get(host) === draft) this.#homes.delete(host);
    draft.hosts.clear();
    draft.leaving.clear();
    draft.size = NOTHING;
  }

  #dirtyHost(host: HostName): void {
    const group = this.groups.get(host);
    if (group !== undefined) this.#dirty.add(group);
  }

  /** Puts a group on one router: where most of it is, or the first router with room, or a new one. */
  #place(group: HostGroup, input: PlanInput): void {
    const homes = new Map<Draft, number>();
    const waiting: HostName[] = [];
    for (const host of group.hosts) {
      const home = this.#homes.get(host);
      if (home === undefined || home.deleting) waiting.push(host);
      else homes.set(home, (homes.get(home) ?? 0) + 1);
    }
    const largestFirst = [...homes].sort(([, a], [, b]) => b - a).map(([draft]) => draft);
    const limit = tooLarge(group, input);
    if (limit !== undefined) {
      this.#placeTooLarge(group, waiting, limit, input, largestFirst[0]);
      return;
    }
    if (this.#refused.size > 0) for (const host of group.hosts) this.#refused.delete(host);
    if (homes.size === 1 && waiting.length === 0) return;
    const target =
      largestFirst.find((draft) => this.#hasRoom(draft, group, input)) ?? this.#elsewhere(group, input);
    for (const host of group.hosts) this.#move(host, target);
  }

  /** New hosts get no router. Hosts that are served already stay, or move with a router that is being deleted. */
  #placeTooLarge(
    group: HostGroup,
    waiting: readonly HostName[],
    limit: string,
    input: PlanInput,
    home: Draft | undefined,
  ): void {
    const stranded = waiting.filter((host) => this.#homes.has(host));
    for (const host of waiting) if (!this.#homes.has(host)) this.#refused.set(host, limit);
    if (stranded.length === 0) return;
    const target = home ?? this.#elsewhere(group, input);
    for (const host of stranded) this.#move(host, target);
  }

  #elsewhere(group: HostGroup, input: PlanInput, except?: Draft): Draft {
    const found = [...this.#drafts.values()].find(
      (draft) => draft !== except && this.#hasRoom(draft, group, input),
    );
    return found ?? this.#newDraft(input);
  }

  #newDraft({ newName }: PlanInput): Draft {
    const draft = new Draft(newName());
    this.#drafts.set(draft.name, draft);
    return draft;
  }

  /** Whether the router can have the whole group. What it has of it already counts once. */
  #hasRoom(draft: Draft, group: HostGroup, { limits, rulesForAll }: PlanInput): boolean {
    if (draft.deleting) return false;
    let size = plus(plus(draft.size, group.size), forAll(rulesForAll));
    for (const host of group.hosts) {
      if (draft.size.hosts === 0) break;
      if (this.#homes.get(host) === draft) size = minus(size, this.groups.sizeOf(host));
    }
    return excess(size, limits) === undefined;
  }

  #move(host: HostName, target: Draft): void {
    const home = this.#homes.get(host);
    if (home === target) return;
    if (home !== undefined) {
      home.leaving.set(host, undefined);
      home.size = minus(home.size, this.groups.sizeOf(host));
      home.changed = true;
    }
    this.#settle(target, host);
  }

  #settle(draft: Draft, host: HostName): void {
    draft.hosts.add(host);
    draft.leaving.delete(host);
    draft.size = plus(draft.size, this.groups.sizeOf(host));
    draft.changed = true;
    this.#homes.set(host, draft);
  }

  /** Moves groups away from a router that exceeds its capacity, as few as possible. The last group stays. */
  #relieve(draft: Draft, input: PlanInput): void {
    const { limits, rulesForAll } = input;
    const isOver = (without = NOTHING): boolean =>
      excess(minus(plus(draft.size, forAll(rulesForAll)), without), limits) !== undefined;
    if (draft.deleting || !isOver()) return;
    const staying = [...draft.hosts].filter((host) => !draft.leaving.has(host)).sort(input.compareAge);
    // The youngest first.
    const groups = [...new Set(staying.map((host) => this.groups.get(host)!))].toReversed();
    while (groups.length > 1 && isOver()) {
      const enough = groups
        .filter(({ size }) => !isOver(size))
        .sort((a, b) => a.size.rules - b.size.rules)[0];
      const moving = enough ?? groups[0]!;
      groups.splice(groups.indexOf(moving), 1);
      if (tooLarge(moving, input) !== undefined) continue;
      const target = this.#elsewhere(moving, input, draft);
      for (const host of moving.hosts) this.#move(host, target);
    }
  }

  /** Ends moves whose drain time is over. Returns when the next one ends. */
  #drain({ now, drainMs }: PlanInput): number | undefined {
    let next: number | undefined;
    for (const draft of this.#drafts.values()) {
      for (const [host, since] of draft.leaving) {
        const home = this.#homes.get(host);
        if (home === undefined) continue;
        if (since === undefined && home.serving && !home.changed) draft.leaving.set(host, now);
        const end = (draft.leaving.get(host) ?? Number.POSITIVE_INFINITY) + drainMs;
        if (end > now) {
          if (Number.isFinite(end)) next = Math.min(next ?? end, end);
        } else if (home.serving) {
          draft.leaving.delete(host);
          draft.hosts.delete(host);
          draft.changed = true;
        }
      }
    }
    return next;
  }

  #result({ rulesForAll }: PlanInput): Omit<PlacementPlan, 'wakeAt'> {
    const live = [...this.#drafts.values()].filter(({ deleting }) => !deleting);
    const needed = live.filter(({ hosts }) => hosts.size > 0);
    if (needed.length === 0 && rulesForAll > 0) needed.push(...live.slice(0, 1));
    const planned = needed.filter(({ changed, version }) => changed || version === '');
    const remove = live.filter((draft) => !needed.includes(draft));
    for (const { name, version } of remove) if (version === '') this.#drafts.delete(name);
    return {
      routers: planned.map((draft) => {
        draft.changed = false;
        return {
          name: draft.name,
          hosts: [...draft.hosts].sort(),
          leaving: [...draft.leaving.keys()].sort(),
        };
      }),
      remove: remove.filter(({ version }) => version !== '').map(({ name }) => name),
    };
  }

  /** Whether the router is as the last plan left it. */
  isCurrent(name: string, version: string): boolean {
    return this.#drafts.get(name)?.version === version;
  }

  /** The plan for the router was written. Without this call, the next plan adopts its lists. */
  wrote(name: string, version: string): void {
    const draft = this.#drafts.get(name);
    if (draft !== undefined) draft.version = version;
  }
}

/** Rules for all hosts are on every router. */
const forAll = (rules: number): Size => ({ ...NOTHING, rules });

/** Says why no router can have the group, not even an empty one. */
function tooLarge({ hosts, size }: HostGroup, { limits, rulesForAll }: PlanInput): string | undefined {
  const over = excess(plus(size, forAll(rulesForAll)), limits);
  if (over === undefined) return undefined;
  const tied =
    hosts.size === 1
      ? 'The host needs'
      : 'The host, and the hosts that share an Ingress or a wildcard with it, need';
  const { needed, what, limit, parameter } = over;
  return `${tied} one router with ${needed} ${what}, but a router of this class has at most ${limit} (${parameter}): split the Ingress, or raise the limit`;
}
