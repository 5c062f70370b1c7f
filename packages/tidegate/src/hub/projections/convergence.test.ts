/**
 * Checks that clients converge: after any random sequence of changes, changes of dependencies, reconfigurations, lost
 * connections and resumes, the state that a client has built from lists and events is what it should see.
 */

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

/** A cluster whose view may lag behind, and filters that depend on something else in the same cluster. */
class Cluster {
  readonly clock = new VirtualClock();
  readonly view = new FakeView();
  readonly causes = new FakeView();
  readonly projections: Projections;
  readonly #listeners = new Set<DependencyListener>();
  /** Changes that the view has not received yet. */
  readonly #late: Change[] = [];
  /** What the filter `byDependency` depends on, by the name of the object: 0 hides it, 1 shows it, 2 changes it. */
  readonly #dependencies = new Map<string, number>();
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
    const byDependency = chainOf('byDependency', (object) => this.#byDependency(object), nameOf);
    const noOdd = chainOf('noOdd', (object) => (isOdd(object) ? undefined : object));
    this.#chains = [byDependency, NO_FILTERS, noOdd];
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

  /** Delivers some of the late changes to the view. */
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

  setDependency(name: string, value: number): void {
    this.#dependencies.set(name, value);
    const cause = `${++this.#version}`;
    this.causes.change([], cause);
    for (const listener of this.#listeners) listener(new Set([name]), cause);
  }

  reconfigure(chain: number, isCauseKnown: boolean): void {
    this.#chain = chain;
    this.#version += 1;
    this.projections.reconfigured(isCauseKnown ? `${this.#version}` : undefined);
  }

  /** What a client with this selection should see, without versions. */
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

  #byDependency(object: KubeObject): KubeObject | undefined {
    const value = this.#dependencies.get(nameOf(object)) ?? 1;
    if (value === 0) return undefined;
    return value === 1 ? object : { ...object, value };
  }
}

const nameOf = (object: KubeObject): string => object.metadata.name!;
const isOdd = (object: KubeObject): boolean => object.metadata.labels?.odd === 'true';
const contentOf = ({ at, value }: KubeObject): unknown => ({ at, value });

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

/** An informer: it lists, watches, loses its connection between any two events, and resumes. */
class Client {
  readonly selection: Selection;
  /** Ignores events that are older than the object it knows, as some informers do. */
  readonly #strict: boolean;
  readonly #known = new Map<string, { version: string; content: unknown }>();
  /** The versions of deletions. */
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

  connect(cluster: Cluster): void {
    if (this.#hold !== undefined) return;
    this.#mayStillRead = Number.POSITIVE_INFINITY;
    this.#hold = cluster.projections.hold(cluster.view, () => cluster.chain, this.selection);
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

  /** Reads this many more events, and loses the rest. */
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
    // Informers may ignore an update with the same version, so its content must be the same.
    if (before?.version === resourceVersion) expect(content).toEqual(before.content);
    this.#known.set(key, { version: resourceVersion, content });
  }
}

const name = fc.constantFrom(...NAMES);
const CLIENTS = SELECTIONS.flatMap((selection) => [true, false].map((strict) => ({ selection, strict })));
const client = fc.nat({ max: CLIENTS.length - 1 });

type Step = (cluster: Cluster, clients: readonly Client[]) => unknown;

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: name.map(
      (n): Step =>
        (cluster) =>
          cluster.write(n),
    ),
  },
  {
    weight: 2,
    arbitrary: name.map(
      (n): Step =>
        (cluster) =>
          cluster.remove(n),
    ),
  },
  {
    weight: 5,
    arbitrary: fc.nat({ max: 3 }).map(
      (n): Step =>
        (cluster) =>
          cluster.deliver(n),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Step>((cluster) => cluster.bookmark()) },
  {
    weight: 5,
    arbitrary: fc.tuple(name, fc.nat({ max: 2 })).map(
      ([n, value]): Step =>
        (cluster) =>
          cluster.setDependency(n, value),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(fc.nat({ max: 2 }), fc.boolean()).map(
      ([chain, known]): Step =>
        (cluster) =>
          cluster.reconfigure(chain, known),
    ),
  },
  {
    weight: 4,
    arbitrary: client.map(
      (i): Step =>
        (cluster, clients) =>
          clients[i]!.connect(cluster),
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
        (cluster) =>
          cluster.clock.advance(ms),
    ),
  },
);

test('every client ends up with the objects that its filters show', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 120 }), async (steps) => {
      const cluster = new Cluster();
      const clients = CLIENTS.map(({ selection, strict }) => new Client(selection, strict));
      const check = (): void => {
        for (const each of clients) {
          if (each.isConnected) expect(each.known).toEqual(cluster.visible(each.selection));
        }
      };
      for (const perform of steps) {
        await perform(cluster, clients);
        check();
      }
      for (const each of clients) {
        each.leave();
        each.connect(cluster);
      }
      check();
      for (const each of clients) each.leave();
      cluster.projections.close();
      expect([cluster.view.listeners, cluster.clock.pending, cluster.projections.size]).toEqual([0, 0, 0]);
    }),
    { numRuns: 300 },
  );
});
