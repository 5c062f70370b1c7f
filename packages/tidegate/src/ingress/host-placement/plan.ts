/** Which host is on which router. Pure. */
import type { HostName } from '../model.ts';

/** A router as it is. */
export interface PlacedRouter {
  readonly name: string;
  readonly hosts: readonly HostName[];
  readonly leaving: readonly HostName[];
  /** All that it has been given is served by it. */
  readonly serving: boolean;
  /** It is on its way out, and takes nothing more. */
  readonly deleting: boolean;
}

export interface PlacementInput {
  /** All hosts with the number of their rules, the oldest first. */
  readonly hosts: ReadonlyMap<HostName, number>;
  /** What is for all hosts is on every router. */
  readonly rulesForAll: number;
  readonly capacity: { readonly maxHosts: number; readonly maxRules?: number };
  /** In the order in which they are to be filled. */
  readonly routers: readonly PlacedRouter[];
  /** The name of the next router to be made. */
  readonly newName: () => string;
}

/** A router as it shall be; both lists sorted. */
export interface PlannedRouter {
  readonly name: string;
  readonly hosts: readonly HostName[];
  readonly leaving: readonly HostName[];
}

export interface PlacementPlan {
  readonly routers: readonly PlannedRouter[];
  /** Names of those that nobody needs. */
  readonly remove: readonly string[];
}

/**
 * What was placed stays where it is. A new host goes to the first router that has room, or to a new one. A router that
 * holds more than it should gives hosts away: first another router gets them, and when that serves them they go.
 */
export function planPlacement(input: PlacementInput): PlacementPlan {
  const planning = new Planning(input);
  planning.settle();
  planning.relieve();
  planning.place();
  return planning.result();
}

class Draft {
  readonly name: string;
  readonly serving: boolean;
  readonly hosts = new Set<HostName>();
  readonly leaving = new Set<HostName>();
  /** Of the hosts that stay. */
  rules: number;

  constructor(name: string, serving: boolean, rulesForAll: number) {
    this.name = name;
    this.serving = serving;
    this.rules = rulesForAll;
  }

  get staying(): number {
    return this.hosts.size - this.leaving.size;
  }
}

class Planning {
  readonly #input: PlacementInput;
  readonly #maxRules: number;
  readonly #routers: Draft[] = [];
  /** Hosts that have no router where they stay, or are to get another. */
  readonly #homeless = new Set<HostName>();

  constructor(input: PlacementInput) {
    this.#input = input;
    this.#maxRules = input.capacity.maxRules ?? Number.POSITIVE_INFINITY;
  }

  /** Takes over what is, without what is gone and without moves that are done. */
  settle(): void {
    const { hosts, routers, rulesForAll } = this.#input;
    const homes = new Map<HostName, Draft>();
    for (const router of routers.filter(({ deleting }) => !deleting)) {
      const draft = new Draft(router.name, router.serving, rulesForAll);
      this.#routers.push(draft);
      const leaving = new Set(router.leaving);
      for (const host of router.hosts) {
        if (!hosts.has(host)) continue;
        draft.hosts.add(host);
        // Two homes come of a write that was not seen; the second is as one that moves away.
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
          // Where it was to go is gone.
          homes.set(host, draft);
          draft.leaving.delete(host);
          draft.rules += this.#rules(host);
        } else if (home.serving) {
          draft.leaving.delete(host);
          draft.hosts.delete(host);
        }
      }
    }
    for (const host of hosts.keys()) if (!homes.has(host)) this.#homeless.add(host);
  }

  relieve(): void {
    for (const draft of this.#routers) {
      if (this.#isOver(draft)) this.#giveAway(draft);
    }
  }

  /** Too many hosts: the youngest go. Too many rules: as few hosts as can be. The last one stays, however large. */
  #giveAway(draft: Draft): void {
    const { hosts, capacity } = this.#input;
    const staying = [...hosts.keys()].filter((host) => draft.hosts.has(host) && !draft.leaving.has(host));
    const give = (host: HostName): void => {
      draft.leaving.add(host);
      draft.rules -= this.#rules(host);
      this.#homeless.add(host);
    };
    for (const host of staying.splice(capacity.maxHosts)) give(host);
    const bySize = staying.toReversed().sort((a, b) => this.#rules(a) - this.#rules(b));
    while (bySize.length > 1 && draft.rules > this.#maxRules) {
      const excess = draft.rules - this.#maxRules;
      const enough = bySize.findIndex((host) => this.#rules(host) >= excess);
      const [host] = bySize.splice(enough < 0 ? bySize.length - 1 : enough, 1);
      give(host!);
    }
  }

  place(): void {
    let first = 0;
    for (const host of this.#input.hosts.keys()) {
      if (!this.#homeless.has(host)) continue;
      // Of thousands that are new most find the first routers full.
      while (first < this.#routers.length && this.#isFull(this.#routers[first]!)) first++;
      const home =
        this.#routers.slice(first).find((draft) => this.#hasRoom(draft, host)) ?? this.#makeRouter();
      home.hosts.add(host);
      home.leaving.delete(host);
      home.rules += this.#rules(host);
    }
    if (this.#input.rulesForAll > 0 && this.#routers.length === 0) this.#makeRouter();
  }

  result(): PlacementPlan {
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

  #isOver({ staying, rules }: Draft): boolean {
    return staying > this.#input.capacity.maxHosts || rules > this.#maxRules;
  }

  #isFull({ staying, rules }: Draft): boolean {
    return staying > 0 && (staying >= this.#input.capacity.maxHosts || rules >= this.#maxRules);
  }

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
