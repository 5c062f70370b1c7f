/** However changes, causes, configurations and clients come and go: what a client has pieced together is what it should see. */

import { isOlderVersion, type KubeObject } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { ApiError } from '@tidegate/serving';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Chain, DependencyListener, Filter } from '../filters/filter.ts';
import { FakeView } from '../views/testing.ts';
import type { ProjectionEvent } from './history.ts';
import type { Hold } from './hold.ts';
import { Projections } from './projections.ts';
import { readSelection, type Selection, selectsKey, selectsObject } from './selection.ts';
import { NO_FILTERS } from './testing.ts';

const NAMES = ['a', 'b', 'c', 'd'];
const SELECTIONS = ['', 'labelSelector=odd=true', 'fieldSelector=metadata.name!=a'].map(
  (query): Selection => readSelection('', new URLSearchParams(query)),
);

interface Change {
  readonly name: string;
  readonly version: number;
  /** Undefined: deleted. */
  readonly object: KubeObject | undefined;
}

/** A cluster whose view may lag behind, and filters that look at something else in the same cluster. */
class World {
  readonly clock = new VirtualClock();
  readonly view = new FakeView();
  readonly causes = new FakeView();
  readonly projections: Projections;
  readonly #listeners = new Set<DependencyListener>();
  readonly #late: Change[] = [];
  readonly #moods = new Map<string, number>();
  readonly #chains: readonly Chain[];
  #chain = 0;
  #version = 1;

  constructor() {
    this.projections = new Projections({
      clock: this.clock,
      context: {
        subscribe: (listener) => {
          this.#listeners.add(listener);
          return () => this.#listeners.delete(listener);
        },
      },
      causes: [this.causes],
      onFault: (_, error) => expect.fail(String(error)),
    });
    const byMood = chainOf('mood', (object) => this.#byMood(object), nameOf);
    const noOdd = chainOf('noOdd', (object) => (isOdd(object) ? undefined : object));
    this.#chains = [byMood, NO_FILTERS, noOdd];
  }

  get chain(): Chain {
    return this.#chains[this.#chain]!;
  }

  write(name: string): void {
    const version = ++this.#version;
    const labels = { odd: `${version % 2 === 1}` };
    const metadata = { name, resourceVersion: `${version}`, labels };
    this.#late.push({ name, version, object: { apiVersion: 'v1', kind: 'Service', metadata, at: version } });
  }

  remove(name: string): void {
    this.#late.push({ name, version: ++this.#version, object: undefined });
  }

  /** The watch upstream brings some of what it is behind with. */
  deliver(most: number): void {
    for (const { name, version, object } of this.#late.splice(0, most)) {
      if (object !== undefined) this.view.put(object);
      else if (this.view.get(name) !== undefined) this.view.delete(name, `${version}`);
      else this.view.change([], `${version}`);
    }
  }

  bookmark(): void {
    this.deliver(Number.POSITIVE_INFINITY);
    this.view.change([], `${this.#version}`);
  }

  setMood(name: string, mood: number): void {
    this.#moods.set(name, mood);
    const cause = `${++this.#version}`;
    this.causes.change([], cause);
    for (const listener of this.#listeners) listener(new Set([name]), cause);
  }

  reconfigure(chain: number, isCauseKnown: boolean): void {
    this.#chain = chain;
    this.#version += 1;
    this.projections.reconfigured(isCauseKnown ? `${this.#version}` : undefined);
  }

  /** Everything but versions. */
  visible(selection: Selection): Record<string, unknown> {
    const shown: Record<string, unknown> = {};
    for (const { key, bytes } of this.view.items()) {
      const object = JSON.parse(bytes.toString()) as KubeObject;
      if (!selectsKey(selection, key) || !selectsObject(selection, object)) continue;
      const filtered = this.chain.apply(object);
      if (filtered !== undefined) shown[key] = contentOf(filtered);
    }
    return shown;
  }

  #byMood(object: KubeObject): KubeObject | undefined {
    const mood = this.#moods.get(nameOf(object)) ?? 1;
    if (mood === 0) return undefined;
    return mood === 1 ? object : { ...object, mood };
  }
}

const nameOf = (object: KubeObject): string => object.metadata.name!;
const isOdd = (object: KubeObject): boolean => object.metadata.labels?.odd === 'true';
const contentOf = ({ at, mood }: KubeObject): unknown => ({ at, mood });

function chainOf(id: string, apply: Filter['apply'], dependency?: (object: KubeObject) => string): Chain {
  const context = {} as Parameters<Filter['apply']>[1];
  const dependsOn = dependency && ((object: KubeObject) => [dependency(object)]);
  return {
    id,
    filters: [{ name: id, components: [], resources: [], apply, ...(dependsOn && { dependsOn }) }],
    apply: (object) => apply(object, context),
    dependsOn: dependsOn ?? (() => []),
  };
}

/** An informer: lists, watches, loses its connection in the middle of something, comes back. */
class Client {
  readonly selection: Selection;
  /** Takes what is older than what it knows for the past. */
  readonly #strict: boolean;
  readonly #known = new Map<string, { version: string; content: unknown }>();
  readonly #gone = new Map<string, string>();
  #hold: Hold | undefined;
  #version = '';
  #mayStillRead = Number.POSITIVE_INFINITY;

  constructor(selection: Selection, strict: boolean) {
    this.selection = selection;
    this.#strict = strict;
  }

  get isConnected(): boolean {
    return this.#hold !== undefined && this.#mayStillRead > 0;
  }

  get known(): Record<string, unknown> {
    return Object.fromEntries([...this.#known].map(([key, { content }]) => [key, content]));
  }

  connect(world: World): void {
    if (this.#hold !== undefined) return;
    this.#mayStillRead = Number.POSITIVE_INFINITY;
    this.#hold = world.projections.hold(world.view, () => world.chain, this.selection);
    const { projection } = this.#hold;
    try {
      if (this.#version === '') this.#list(this.#hold);
      this.#take(projection.since(this.#version));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      this.#list(this.#hold);
      this.#take(projection.since(this.#version));
    }
    this.#hold.subscribe({ changed: (events) => this.#take(events), ended: () => expect.fail('ended') });
  }

  /** Reads this many events more, and loses the rest. */
  loseAfter(events: number): void {
    this.#mayStillRead = Math.min(this.#mayStillRead, events);
  }

  leave(): void {
    this.#hold?.release();
    this.#hold = undefined;
  }

  bookmark(): void {
    if (this.isConnected) this.#version = this.#hold!.projection.resourceVersion;
  }

  #list({ projection }: Hold): void {
    this.#known.clear();
    this.#gone.clear();
    for (const item of projection.items()) this.#put(item);
    this.#version = projection.resourceVersion;
  }

  #take(events: readonly ProjectionEvent[]): void {
    for (const { type, item } of events) {
      if (this.#mayStillRead-- <= 0) return;
      this.#version = item.resourceVersion;
      const past = this.#known.get(item.key)?.version ?? this.#gone.get(item.key);
      if (this.#strict && isOlderVersion(item.resourceVersion, past)) continue;
      if (type !== 'DELETED') this.#put(item);
      else {
        this.#known.delete(item.key);
        this.#gone.set(item.key, item.resourceVersion);
      }
    }
  }

  #put({ key, resourceVersion, bytes }: ProjectionEvent['item']): void {
    const object = JSON.parse(bytes.toString()) as KubeObject;
    expect(object.metadata.resourceVersion).toBe(resourceVersion);
    const content = contentOf(object);
    const before = this.#known.get(key);
    // An update under the same version may be taken for none.
    if (before?.version === resourceVersion) expect(content).toEqual(before.content);
    this.#known.set(key, { version: resourceVersion, content });
  }
}

const name = fc.constantFrom(...NAMES);
const CLIENTS = SELECTIONS.flatMap((selection) => [true, false].map((strict) => ({ selection, strict })));
const client = fc.nat({ max: CLIENTS.length - 1 });

type Step = (world: World, clients: readonly Client[]) => unknown;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: name.map(
      (n): Step =>
        (world) =>
          world.write(n),
    ),
  },
  {
    weight: 2,
    arbitrary: name.map(
      (n): Step =>
        (world) =>
          world.remove(n),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.nat({ max: 3 }).map(
      (n): Step =>
        (world) =>
          world.deliver(n),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((world) => world.bookmark()) },
  {
    weight: 5,
    arbitrary: fc.tuple(name, fc.nat({ max: 2 })).map(
      ([n, mood]): Step =>
        (world) =>
          world.setMood(n, mood),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat({ max: 2 }), fc.boolean()).map(
      ([chain, known]): Step =>
        (world) =>
          world.reconfigure(chain, known),
    ),
  },
  {
    weight: 4,
    arbitrary: client.map(
      (i): Step =>
        (world, clients) =>
          clients[i]!.connect(world),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.tuple(client, fc.nat({ max: 2 })).map(
      ([i, events]): Step =>
        (_, clients) =>
          clients[i]!.loseAfter(events),
    ),
  },
  {
    weight: 2,
    arbitrary: client.map(
      (i): Step =>
        (_, clients) =>
          clients[i]!.leave(),
    ),
  },
  {
    weight: 2,
    arbitrary: client.map(
      (i): Step =>
        (_, clients) =>
          clients[i]!.bookmark(),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.nat({ max: 200_000 }).map(
      (ms): Step =>
        (world) =>
          world.clock.advance(ms),
    ),
  },
);

test('every client ends with what the filters show it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 120 }), async (steps) => {
      const world = new World();
      const clients = CLIENTS.map(({ selection, strict }) => new Client(selection, strict));
      const check = (): void => {
        for (const each of clients) {
          if (each.isConnected) expect(each.known).toEqual(world.visible(each.selection));
        }
      };
      for (const take of steps) {
        await take(world, clients);
        check();
      }
      for (const each of clients) {
        each.leave();
        each.connect(world);
      }
      check();
      for (const each of clients) each.leave();
      world.projections.close();
      expect([world.view.listeners, world.clock.pending, world.projections.size]).toEqual([0, 0, 0]);
    }),
    { numRuns: 300 },
  );
});
