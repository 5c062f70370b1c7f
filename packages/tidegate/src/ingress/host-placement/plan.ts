/**
 * Decides which host is on which router. Pure.
 *
 * A host moves in three steps, so that it is served by at least one router at all times (make before break):
 *   1. The plan adds the host to the new router and lists it in `leaving` of the old one. Both serve it.
 *   2. The new router becomes reachable, and the status of Ingresses changes to its address. Then all its pods report
 *      that they serve its current generation.
 *   3. The next plan removes the host from both lists of the old router.
 * If the new router disappears before step 3, the move is canceled and the host stays.
 */
import type { HostName } from '../model.ts';

/** A router that exists. */
export interface PlacedRouter {
  readonly name: string;
  /** All hosts on the router, including those in `leaving`. */
  readonly hosts: readonly HostName[];
  /** Hosts that are moving to another router. */
  readonly leaving: readonly HostName[];
  /** All its pods serve its current generation. */
  readonly serving: boolean;
  /** It is being deleted and gets no hosts. Its hosts are placed on other routers. */
  readonly deleting: boolean;
}

export interface HostPlacementInput {
  /** Number of rules by host, the oldest host first. */
  readonly hosts: ReadonlyMap<HostName, number>;
  /** Number of rules for all hosts. They are on every router and count on each. */
  readonly rulesForAll: number;
  readonly capacity: { readonly maxHosts: number; readonly maxRules?: number };
  /** In the order in which they are filled. */
  readonly routers: readonly PlacedRouter[];
  /** Returns an unused name for the next new router. */
  readonly newName: () => string;
}

/** Desired state of a router. Both lists are sorted. */
export interface PlannedRouter {
  readonly name: string;
  readonly hosts: readonly HostName[];
  readonly leaving: readonly HostName[];
}

export interface HostPlacementPlan {
  readonly routers: readonly PlannedRouter[];
  /** Names of routers without hosts, which are deleted. */
  readonly remove: readonly string[];
}

/**
 * Returns the desired routers. A placed host stays where it is, because a move changes the address of its Ingresses. A
 * new host goes to the first router that has room, or to a new router. Hosts move away only from a router that exceeds
 * its capacity.
 */
export function planHostPlacement(input: HostPlacementInput): HostPlacementPlan {
  const planning = new Planning(input);
  planning.adoptCurrentState();
  planning.moveFromOverfullRouters();
  planning.placeHosts();
  return planning.result();
}

/** A router while the plan is being made. */
class Draft {
  readonly name: string;
  readonly serving: boolean;
  readonly hosts = new Set<HostName>();
  readonly leaving = new Set<HostName>();
  /** Number of rules of the hosts that stay, plus the rules for all hosts. */
  rules: number;

  constructor(name: string, serving: boolean, rulesForAll: number) {
    this.name = name;
    this.serving = serving;
    this.rules = rulesForAll;
  }

  /** Number of hosts that stay. Leaving hosts do not count against the capacity. */
  get staying(): number {
    return this.hosts.size - this.leaving.size;
  }
}

class Planning {
  readonly #input: HostPlacementInput;
  readonly #maxRules: number;
  readonly #routers: Draft[] = [];
  /** Hosts to place: new hosts, and hosts that move to another router. */
  readonly #unplaced = new Set<HostName>();

  constructor(input: HostPlacementInput) {
    this.#input = input;
    this.#maxRules = input.capacity.maxRules ?? Number.POSITIVE_INFINITY;
  }

  /** Starts from the existing routers. Removes hosts that no longer have rules, and completes or cancels moves. */
  adoptCurrentState(): void {
    const { hosts, routers, rulesForAll } = this.#input;
    const homes = new Map<HostName, Draft>();
    for (const router of routers.filter(({ deleting }) => !deleting)) {
      const draft = new Draft(router.name, router.serving, rulesForAll);
      this.#routers.push(draft);
      const leaving = new Set(router.leaving);
      for (const host of router.hosts) {
        if (!hosts.has(host)) continue;
        draft.hosts.add(host);
        // A host is on two routers only after a write that was not observed. The second router gives it up.
        if (leaving.has(host) || homes.has(host)) draft.leaving.add(host);
        else {
          homes.set(host, draft);
          draft.rules += hosts.get(host) ?? 0;
        }
      }
    }
    for (const draft of this.#routers) {
      for (const host of [...draft.leaving]) {
        const home = homes.get(host);
        if (home === undefined) {
          // The target of the move no longer exists: cancel the move.
          homes.set(host, draft);
          draft.leaving.delete(host);
          draft.rules += this.#rules(host);
        } else if (home.serving) {
          draft.leaving.delete(host);
          draft.hosts.delete(host);
        }
      }
    }
    for (const host of hosts.keys()) if (!homes.has(host)) this.#unplaced.add(host);
  }

  /** Marks hosts of routers that exceed their capacity as leaving, and queues them for placement. */
  moveFromOverfullRouters(): void {
    for (const draft of this.#routers) {
      if (this.#isOver(draft)) this.#moveHostsFrom(draft);
    }
  }

  /**
   * If there are too many hosts, the youngest move. If there are too many rules, as few hosts as possible move: the
   * smallest host that is large enough, or the largest if none is. The last host stays even if it exceeds `maxRules`,
   * because a host is never split.
   */
  #moveHostsFrom(draft: Draft): void {
    const { hosts, capacity } = this.#input;
    const staying = [...hosts.keys()].filter((host) => draft.hosts.has(host) && !draft.leaving.has(host));
    const move = (host: HostName): void => {
      draft.leaving.add(host);
      draft.rules -= this.#rules(host);
      this.#unplaced.add(host);
    };
    for (const host of staying.splice(capacity.maxHosts)) move(host);
    const bySize = staying.toReversed().sort((a, b) => this.#rules(a) - this.#rules(b));
    while (bySize.length > 1 && draft.rules > this.#maxRules) {
      const excess = draft.rules - this.#maxRules;
      const enough = bySize.findIndex((host) => this.#rules(host) >= excess);
      const [host] = bySize.splice(enough < 0 ? bySize.length - 1 : enough, 1);
      move(host!);
    }
  }

  /** First fit, in the order of the routers. */
  placeHosts(): void {
    let first = 0;
    for (const host of this.#input.hosts.keys()) {
      if (!this.#unplaced.has(host)) continue;
      // Skip full routers once, not for each host: thousands of new hosts may be placed at once.
      while (first < this.#routers.length && this.#isFull(this.#routers[first]!)) first++;
      const home =
        this.#routers.slice(first).find((draft) => this.#hasRoom(draft, host)) ?? this.#makeRouter();
      home.hosts.add(host);
      home.leaving.delete(host);
      home.rules += this.#rules(host);
    }
    if (this.#input.rulesForAll > 0 && this.#routers.length === 0) this.#makeRouter();
  }

  result(): HostPlacementPlan {
    const needed = this.#routers.filter(({ hosts }) => hosts.size > 0);
    if (needed.length === 0 && this.#input.rulesForAll > 0) needed.push(...this.#routers.slice(0, 1));
    const names = new Set(needed.map(({ name }) => name));
    return {
      routers: needed.map(({ name, hosts, leaving }) => ({
        name,
        hosts: [...hosts].sort(),
        leaving: [...leaving].sort(),
      })),
      remove: this.#input.routers
        .filter(({ name, deleting }) => !deleting && !names.has(name))
        .map(({ name }) => name),
    };
  }

  #rules(host: HostName): number {
    return this.#input.hosts.get(host) ?? 0;
  }

  /** Exceeds its capacity. */
  #isOver({ staying, rules }: Draft): boolean {
    return staying > this.#input.capacity.maxHosts || rules > this.#maxRules;
  }

  /** Has no room for any other host. */
  #isFull({ staying, rules }: Draft): boolean {
    return staying > 0 && (staying >= this.#input.capacity.maxHosts || rules >= this.#maxRules);
  }

  /**
   * An empty router takes any host, even one that exceeds `maxRules`. A host never returns to the router that it
   * leaves.
   */
  #hasRoom(draft: Draft, host: HostName): boolean {
    if (draft.leaving.has(host)) return false;
    const { maxHosts } = this.#input.capacity;
    return (
      draft.staying === 0 || (draft.staying < maxHosts && draft.rules + this.#rules(host) <= this.#maxRules)
    );
  }

  #makeRouter(): Draft {
    const draft = new Draft(this.#input.newName(), false, this.#input.rulesForAll);
    this.#routers.push(draft);
    return draft;
  }
}
