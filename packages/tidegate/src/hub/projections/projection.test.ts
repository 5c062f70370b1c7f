import { type KubeObject, SERVICES } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, test } from 'vitest';
import type { Chain, DependencyListener } from '../filters/filter.ts';
import { FakeView } from '../views/testing.ts';
import type { View } from '../views/view.ts';
import type { ProjectionEvent } from './history.ts';
import { Projections } from './projections.ts';
import { EVERYTHING, readSelection, type Selection } from './selection.ts';
import { hiding, NO_FILTERS } from './testing.ts';

const service = (name: string, resourceVersion: number, more: Record<string, unknown> = {}): KubeObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name, namespace: 'a', resourceVersion: `${resourceVersion}`, ...more },
});

function setup(causes: View[] = [], random = () => 0) {
  const listeners = new Set<DependencyListener>();
  const faults: string[] = [];
  const clock = new VirtualClock();
  const projections = new Projections({
    clock,
    context: {
      subscribe(listener) {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
    causes,
    random,
    onFault: (key) => faults.push(key),
  });
  const dependencyChanged = (dependency: string, version: number): void => {
    for (const listener of listeners) listener(new Set([dependency]), `${version}`);
  };
  return { projections, clock, faults, listeners, dependencyChanged };
}

/** Opens a watch. `received` has its events as `TYPE name@version`, `ended` the reasons why it ended. */
function watch(
  projections: Projections,
  view: View,
  chain: Chain | (() => Chain),
  selection = EVERYTHING,
  resumedFrom?: string,
) {
  const chainOf = typeof chain === 'function' ? chain : () => chain;
  const hold = projections.hold(view, chainOf, selection);
  const received: string[] = [];
  const ended: (string | undefined)[] = [];
  hold.subscribe({
    ...(resumedFrom === undefined ? {} : { resumedFrom }),
    changed: (events) => received.push(...events.map(textOf)),
    ended: (why) => ended.push(why?.message),
  });
  return { hold, received, ended };
}

const textOf = ({ type, item }: ProjectionEvent): string => {
  const { metadata } = JSON.parse(item.bytes.toString()) as KubeObject;
  expect(metadata.resourceVersion).toBe(item.resourceVersion);
  return `${type} ${metadata.name}@${item.resourceVersion}`;
};

const select = (query: string, namespace = ''): Selection =>
  readSelection(namespace, new URLSearchParams(query));

test('passes the bytes of objects through without parsing them if there are no filters and no selectors for their contents', () => {
  const view = new FakeView();
  const { projections, faults } = setup();
  const broken = { key: 'a/x', resourceVersion: '2', bytes: Buffer.from('not JSON') };
  const hold = projections.hold(view, () => NO_FILTERS, select('fieldSelector=metadata.name=x', 'a'));
  view.change([{ type: 'put', item: broken, previous: undefined }]);
  expect(hold.projection.items()).toEqual([broken]);
  expect(hold.projection.items()[0]?.bytes).toBe(broken.bytes);
  expect(faults).toEqual([]);
});

test('hides an object that cannot be decoded or filtered, and shows all others', () => {
  const view = new FakeView();
  const { projections, faults } = setup();
  const { hold, received } = watch(projections, view, hiding(new Set()));
  view.change([
    { type: 'put', item: { key: 'a/x', resourceVersion: '2', bytes: Buffer.from('{') }, previous: undefined },
  ]);
  view.put(service('y', 3));
  expect(received).toEqual(['ADDED y@3']);
  expect(hold.projection.resourceVersion).toBe('3');
  expect(faults).toEqual(['a/x']);
});

test('sends ADDED and DELETED when an object enters and leaves the selection', () => {
  const view = new FakeView();
  const { projections } = setup();
  const { received, hold } = watch(projections, view, NO_FILTERS, select('labelSelector=tier=web'));
  view.put(service('x', 2));
  view.put(service('x', 3, { labels: { tier: 'web' } }));
  view.put(service('x', 4, { labels: { tier: 'web', more: '' } }));
  view.put(service('x', 5));
  const last = hold.projection.since('4').map(({ item }) => JSON.parse(item.bytes.toString()) as KubeObject);
  expect(last[0]?.metadata.labels).toEqual({ tier: 'web', more: '' });
  view.put(service('x', 6, { labels: { tier: 'web' } }));
  view.delete('a/x', '7');
  expect(received).toEqual(['ADDED x@3', 'MODIFIED x@4', 'DELETED x@5', 'ADDED x@6', 'DELETED x@7']);
});

test('hides and shows only the objects that depend on a change, with the version of its cause', () => {
  const view = new FakeView();
  view.put(service('x', 2), service('y', 3));
  const { projections, dependencyChanged } = setup();
  const hidden = new Set<string>();
  const { received, hold } = watch(projections, view, hiding(hidden));
  hidden.add('x').add('y');
  dependencyChanged('service:a/x', 9);
  expect(received).toEqual(['DELETED x@9']);
  hidden.clear();
  dependencyChanged('service:a/x', 10);
  dependencyChanged('service:a/y', 11);
  expect(received).toEqual(['DELETED x@9', 'ADDED x@10']);
  expect(hold.projection.items().map(({ key, resourceVersion }) => `${key}@${resourceVersion}`)).toEqual([
    'a/x@10',
    'a/y@3',
  ]);
  expect(hold.projection.resourceVersion).toBe('10');
});

test('does not decrease the version of an object when an older change arrives after that of a dependency', () => {
  const view = new FakeView();
  view.put(service('x', 2), service('y', 3));
  const { projections, dependencyChanged } = setup();
  const hidden = new Set<string>();
  const { received, hold } = watch(projections, view, hiding(hidden));
  hidden.add('x');
  dependencyChanged('service:a/x', 9);
  view.put(service('x', 5));
  hidden.clear();
  view.put(service('x', 6));
  view.put(service('y', 7));
  view.put(service('x', 12));
  expect(received).toEqual(['DELETED x@9', 'ADDED x@9', 'MODIFIED y@7', 'MODIFIED x@12']);
  expect(hold.projection.since('7').map(textOf)).toEqual(['MODIFIED x@12']);
  expect(hold.projection.since('9').map(textOf)).toEqual(received.slice(1));
});

test('returns 410 to a client that resumes from a version before the history', () => {
  const view = new FakeView('100');
  const { projections } = setup();
  const { hold } = watch(projections, view, NO_FILTERS);
  const { projection } = hold;
  expect(() => projection.since('99')).toThrow('too old resource version: 99 (100)');
  expect(projection.since('100')).toEqual([]);
  expect(projection.since('500')).toEqual([]);
  for (let version = 101; version <= 1300; version++) view.put(service('x', version));
  expect(() => projection.since('101')).toThrow('too old resource version');
  expect(projection.since('1299').map(textOf)).toEqual(['MODIFIED x@1300']);
});

test('always hands out a version to resume from, even if one version has more events than the history', () => {
  const view = new FakeView();
  const names = Array.from({ length: 1500 }, (_, i) => `s${i}`);
  view.put(...names.map((name, i) => service(name, i + 2)));
  const { projections, dependencyChanged } = setup();
  const hidden = new Set(names);
  const { received, hold } = watch(projections, view, hiding(hidden, 'node:n1'));
  hidden.clear();
  dependencyChanged('node:n1', 5000);
  expect(received).toHaveLength(1500);
  expect(() => hold.projection.since('5000')).toThrow('too old resource version');
  expect(hold.projection.since(hold.projection.resourceVersion)).toEqual([]);
  const huge = service('huge', 6000, { annotations: { much: 'x'.repeat(5 * 1024 * 1024) } });
  view.put(huge);
  expect(hold.projection.since(hold.projection.resourceVersion)).toEqual([]);
});

test('ends watches with 410 when the cluster was restored from a backup, and shows the restored objects', () => {
  const view = new FakeView('100');
  view.put(service('x', 120));
  const { projections } = setup();
  const { ended, hold } = watch(projections, view, NO_FILTERS);
  const previous = view.get('a/x')!;
  view.change([{ type: 'delete', item: previous, previous }], '50');
  expect(ended).toEqual(['too old resource version: 120 (50)']);
  expect(hold.projection.resourceVersion).toBe('50');
  expect(hold.projection.items()).toEqual([]);
});

test('sends the differences with a new version when the chain of a client changes', () => {
  const view = new FakeView();
  view.put(service('x', 2), service('y', 3));
  const { projections } = setup();
  let chain = NO_FILTERS;
  const filtered = hiding(new Set(['x']));
  const stays = watch(projections, view, filtered);
  const moves = watch(projections, view, () => chain);
  chain = filtered;
  projections.reconfigured('8');
  expect(moves.received).toEqual(['DELETED x@8']);
  expect(moves.hold.projection).toBe(stays.hold.projection);
  expect(stays.received).toEqual([]);
  view.put(service('y', 10));
  expect(moves.received).toEqual(['DELETED x@8', 'MODIFIED y@10']);
  chain = NO_FILTERS;
  projections.reconfigured();
  expect(moves.received.slice(2)).toEqual(['ADDED x@11']);
  expect(moves.hold.projection.get('a/x')?.resourceVersion).toBe('11');
  expect(() => moves.hold.projection.since('10')).toThrow('too old resource version');
});

test('shares a projection between equal clients, and keeps its history for a while after the last one', async () => {
  const view = new FakeView();
  const { projections, clock } = setup();
  const first = watch(projections, view, NO_FILTERS);
  const second = watch(projections, view, NO_FILTERS);
  const other = watch(projections, view, NO_FILTERS, select('', 'b'));
  expect(second.hold.projection).toBe(first.hold.projection);
  expect(other.hold.projection).not.toBe(first.hold.projection);
  const { projection } = first.hold;
  for (const { hold } of [first, second, other]) hold.release();
  await clock.advance(60_000);
  view.put(service('x', 2));
  const back = watch(projections, view, NO_FILTERS);
  expect(back.hold.projection).toBe(projection);
  expect(back.hold.projection.since('1').map(textOf)).toEqual(['ADDED x@2']);
  await clock.advance(600_000);
  expect(projections.size).toBe(1);
  back.hold.release();
  back.hold.release();
  await clock.advance(600_000);
  expect(projections.size).toBe(0);
  expect(view.listeners).toBe(0);
});

test('returns 410 to a client that was disconnected while a dependency changed', () => {
  const view = new FakeView('100');
  const services = new FakeView('120');
  const { projections } = setup([services]);
  const { hold } = watch(projections, view, hiding(new Set()));
  expect(hold.projection.resourceVersion).toBe('120');
  expect(() => hold.projection.since('100')).toThrow('too old resource version');
});

test('returns 410 for versions that an earlier process of the hub handed out for a shared view', () => {
  const view = new FakeView('1', SERVICES, 'Service', 'shared');
  view.put(service('x', 100));
  const pools = new FakeView('90');
  const hidden = new Set<string>();
  const before = watch(setup([pools]).projections, view, hiding(hidden)).hold.projection;
  const seen = before.resourceVersion;
  hidden.add('x');
  pools.change([], '95');
  const after = watch(setup([pools], () => 0.5).projections, view, hiding(hidden)).hold.projection;
  for (const version of ['100', seen]) expect(() => after.since(version)).toThrow('too old resource version');
  // Nor can it know what a client has seen at a version that is still ahead.
  expect(() => after.since('2000')).toThrow('too old resource version');
  expect(after.since(after.resourceVersion)).toEqual([]);
});

test('ends the watch of a client with 410 if it had seen more than the hub, and the hub lists again', () => {
  const view = new FakeView('95');
  const { projections } = setup();
  const { received, ended } = watch(projections, view, NO_FILTERS, EVERYTHING, '98');
  const late = watch(projections, view, NO_FILTERS, EVERYTHING, '96');
  view.put(service('y', 96));
  expect(received).toEqual(['ADDED y@96']);
  // An object that was created at 98 and deleted since is in no list.
  view.change([], '105', true);
  expect(ended).toEqual(['too old resource version: 98 (105)']);
  expect(late.ended).toEqual([]);
  const { projection } = late.hold;
  expect(() => projection.since('98')).toThrow('too old resource version: 98 (105)');
  expect(projection.since('96')).toEqual([]);
  expect(projection.since('105')).toEqual([]);
});

test('ends watches when the view is refused, and creates a new projection for the next client', () => {
  const view = new FakeView();
  const { projections, clock, listeners } = setup();
  const { ended, hold } = watch(projections, view, NO_FILTERS);
  view.refuse(new Error('forbidden'));
  expect(ended).toEqual([undefined]);
  expect(watch(projections, view, NO_FILTERS).hold.projection).not.toBe(hold.projection);
  hold.release();
  projections.close();
  expect([view.listeners, listeners.size, clock.pending]).toEqual([0, 0, 0]);
});

test('filters one object without creating a projection', () => {
  const view = new FakeView();
  view.put(service('x', 2), service('y', 3));
  const { projections } = setup();
  expect(projections.get(view, hiding(new Set(['x'])), 'a/x')).toBeUndefined();
  expect(projections.get(view, hiding(new Set(['x'])), 'a/y')).toBe(view.get('a/y'));
  expect(projections.size).toBe(0);
});

test('keeps the watches of a shared view open when the hub lists again', () => {
  const view = new FakeView('100', SERVICES, 'Service', 'shared');
  const { projections } = setup([], () => 0.5);
  const { resourceVersion } = projections.hold(view, () => NO_FILTERS, EVERYTHING).projection;
  const { hold, ended } = watch(projections, view, NO_FILTERS, EVERYTHING, resourceVersion);
  view.change([], '5000', true);
  expect(ended).toEqual([]);
  expect(hold.projection.since(resourceVersion)).toEqual([]);
});
