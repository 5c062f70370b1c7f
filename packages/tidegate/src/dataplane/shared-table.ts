import { Serial } from '@tidegate/kube';
import { sectionPorts } from '../api/index.ts';
import type { Changes, Delta, HostRoutes } from '../ingress/model.ts';
import { identityHost } from './answers.ts';
import { CapacityError, type Driver, type Listening, NeedsFullState, type Unserved } from './driver.ts';
import { RECEIVED, sectionKey } from './section-keys.ts';
import { type Content, type SectionedDriver, type SectionFacts, SectionKeys, shared } from './sections.ts';

/**
 * Several routers in one data plane whose table tells sections apart. Each section numbers its own deltas. They become
 * changes of one table, one after the other, so a change of one section costs what it costs in a router of its own.
 */
export class SharedTable implements SectionedDriver {
  readonly #driver: Driver;
  readonly #serial = new Serial();
  readonly #sections = new Set<Section>();
  /**
   * By number of a section. They outlive it: if the removal of a section fails, the first full state of the next one with this
   * number removes what is left.
   */
  readonly #keys = new Map<number, SectionKeys>();
  /** What sections were started with before the data plane. */
  #first: Content[] = [];
  #generation = 0;
  #started = false;

  constructor(driver: Driver) {
    this.#driver = driver;
  }

  start(): Promise<void> {
    return this.#serial.run(async () => {
      const first = this.#first;
      this.#first = [];
      this.#started = true;
      if (first.length === 0) return void (await this.#driver.start());
      try {
        await this.#driver.start({ ...joined(first), from: 0, to: 1 });
        this.#generation = 1;
      } catch (error) {
        if (!(error instanceof CapacityError)) throw error;
        // Each section sends its full state when it is synced. Those that fit are served then.
        for (const section of this.#sections) section.reset();
        await this.#driver.start();
      }
    });
  }

  section(facts: SectionFacts): Driver {
    const { number } = facts;
    const keys = this.#keys.get(number) ?? new SectionKeys();
    this.#keys.set(number, keys);
    const section = new Section(facts, keys, this.#driver, {
      change: (content, after) => this.#change(content, after),
      left: () => this.#sections.delete(section),
    });
    this.#sections.add(section);
    return section;
  }

  health(): ReturnType<Driver['health']> {
    return this.#driver.health();
  }

  metrics(): Promise<string> {
    return this.#driver.metrics();
  }

  drain(ms: number): Promise<void> {
    return this.#driver.drain(ms);
  }

  close(): Promise<void> {
    return this.#driver.close();
  }

  /** `after` is called when the table has the change. The table is unchanged after a rejection. */
  #change(content: () => Content, after: (content: Content) => void): Promise<void> {
    return this.#serial.run(async () => {
      const next = content();
      if (this.#started) {
        await this.#driver.apply({ ...next, from: this.#generation, to: this.#generation + 1 });
        this.#generation++;
      } else this.#first.push(next);
      after(next);
    });
  }
}

interface Table {
  change(content: () => Content, after: (content: Content) => void): Promise<void>;
  left(): void;
}

/** The data plane as one router sees it. */
class Section implements Driver {
  readonly #number: number;
  /** Hosts that no client can ask for, besides the identity: they mark a section that has received its routes. */
  readonly #more: readonly HostRoutes[];
  readonly #driver: Driver;
  readonly #table: Table;
  readonly #keys: SectionKeys;
  /** The number of the last delta that the table has. */
  #generation = 0;

  constructor(facts: SectionFacts, keys: SectionKeys, driver: Driver, table: Table) {
    const { number, identity, className, router } = facts;
    this.#number = number;
    this.#keys = keys;
    const none = { namespace: '', routes: [] };
    this.#more = [
      { ...none, host: identityHost(identity), isIdentity: true },
      { ...none, host: RECEIVED, section: { className, router } },
    ];
    this.#driver = driver;
    this.#table = table;
  }

  async start(first?: Delta): Promise<Listening> {
    if (first !== undefined) await this.apply(first);
    return sectionPorts(this.#number);
  }

  apply(delta: Delta): Promise<void> {
    return this.#table.change(
      () => {
        if (delta.from !== 0 && delta.from !== this.#generation)
          throw new NeedsFullState(`section ${this.#number} is at ${this.#generation}, not at ${delta.from}`);
        return shared(this.#number, delta, this.#keys, this.#more);
      },
      (content) => {
        this.#keys.note(content);
        this.#generation = delta.to;
      },
    );
  }

  /** The data plane has started without the table. */
  reset(): void {
    this.#keys.clear();
    this.#generation = 0;
  }

  health(): ReturnType<Driver['health']> {
    return this.#driver.health();
  }

  unserved(): Unserved[] {
    const prefix = sectionKey(this.#number, '');
    return (this.#driver.unserved?.() ?? [])
      .filter(({ key }) => key.startsWith(prefix))
      .map((each) => ({ ...each, key: each.key.slice(prefix.length) }));
  }

  /** The metrics of all sections are those of the data plane. */
  async metrics(): Promise<string> {
    return '';
  }

  async drain(): Promise<void> {}

  /** Removes the section from the table. */
  async close(): Promise<void> {
    this.#table.left();
    const { hosts, upstreams, certificates, credentials } = this.#keys;
    const gone: Content = {
      hosts: { set: [], remove: [...hosts] },
      upstreams: { set: [], remove: [...upstreams] },
      certificates: { set: [], remove: [...certificates] },
      credentials: { set: [], remove: [...credentials] },
    };
    await this.#table.change(
      () => gone,
      () => this.reset(),
    );
  }
}

/** The state after all changes, in their order: a section may change or end before the data plane starts. */
function joined(contents: readonly Content[]): Content {
  const after = <V>(
    changesOf: (content: Content) => Changes<string, V>,
    keyOf: (value: V) => string,
  ): Changes<string, V> => {
    const state = new Map<string, V>();
    for (const { set, remove } of contents.map(changesOf)) {
      for (const key of remove) state.delete(key);
      for (const value of set) state.set(keyOf(value), value);
    }
    return { set: [...state.values()], remove: [] };
  };
  return {
    hosts: after(
      ({ hosts }) => hosts,
      ({ host }) => host,
    ),
    upstreams: after(
      ({ upstreams }) => upstreams,
      ({ id }) => id,
    ),
    certificates: after(
      ({ certificates }) => certificates,
      ({ host }) => host,
    ),
    credentials: after(
      ({ credentials }) => credentials,
      ({ id }) => id,
    ),
  };
}
