import { WIDGETS } from '@tidegate/kube/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { objectOf } from './item.ts';
import { ViewsRig } from './testing/views-rig.ts';
import type { View } from './view.ts';

const name = fc.constantFrom('a', 'b', 'c');
const step = fc.oneof(
  { weight: 8, arbitrary: fc.record({ do: fc.constant('put' as const), name, value: fc.nat(3) }) },
  { weight: 6, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom('cut', 'mend', 'drop', 'end', 'compact', 'freeze', 'bookmark', 'fail', 'gone'),
    }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('restart' as const) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('catch up' as const) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A client that rebuilds the state of the view from its changes. */
class Subscriber {
  readonly objects = new Map<string, unknown>();
  view!: View;

  /** Reads the current state, then applies every change. */
  join(view: View): void {
    this.view = view;
    this.objects.clear();
    for (const item of view.items()) this.objects.set(item.key, objectOf(item));
    view.subscribe((changes) => {
      for (const { type, item, previous } of changes) {
        expect(this.objects.has(item.key)).toBe(previous !== undefined);
        if (type === 'put') this.objects.set(item.key, objectOf(item));
        else this.objects.delete(item.key);
      }
    });
  }
}

async function perform(rig: ViewsRig, subscriber: Subscriber, step: Step): Promise<unknown> {
  const { server, upstream } = rig;
  switch (step.do) {
    case 'put':
      return server.put(step.name, { value: step.value });
    case 'remove':
      return server.remove(step.name);
    case 'cut':
      upstream.turn(false);
      return server.drop();
    case 'mend':
      return upstream.turn(true);
    case 'drop':
      return server.drop();
    case 'end':
      return server.end();
    case 'compact':
      return server.compact();
    case 'freeze':
      return server.freeze();
    case 'bookmark':
      return server.bookmark();
    case 'fail':
      return server.failNext({ code: 503 });
    case 'gone':
      return server.sendError(410, 'Expired');
    case 'restart':
      await rig.restart();
      return subscriber.join(rig.views.shared(WIDGETS).view);
    case 'catch up':
      return catchUp(rig, subscriber);
  }
}

/** Writes a marker object and waits for it. Events arrive in order, so the view has everything that happened before. */
async function catchUp(rig: ViewsRig, { view }: Subscriber): Promise<void> {
  rig.upstream.turn(true);
  const { metadata } = rig.server.put('last');
  const arrived = (): boolean => view.get('default/last')?.resourceVersion === metadata.resourceVersion;
  await rig.until(arrived, 1_000);
}

it('a view, its changes and its copy on disk all end up equal to the API server', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), async (steps) => {
      const rig = await new ViewsRig().start();
      const subscriber = new Subscriber();
      subscriber.join(rig.views.shared(WIDGETS).view);
      try {
        for (const s of steps) await perform(rig, subscriber, s);
        await catchUp(rig, subscriber);
        const wanted = Object.fromEntries(rig.server.objects);
        const shown = [...subscriber.view.items()].map((item) => [item.key, objectOf(item)]);
        expect(Object.fromEntries(shown)).toEqual(wanted);
        expect(Object.fromEntries(subscriber.objects)).toEqual(wanted);
        expect(rig.reported).toEqual([]);
        rig.upstream.turn(false);
        await rig.restart();
        const { view } = rig.views.shared(WIDGETS);
        await view.ready(new AbortController().signal);
        const stored = [...view.items()].map((item) => [item.key, objectOf(item)]);
        expect(Object.fromEntries(stored)).toEqual(wanted);
      } finally {
        await rig.end();
      }
    }),
    { numRuns: 30 },
  );
});
