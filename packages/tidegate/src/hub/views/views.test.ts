import { type KubeList, type KubeObject, NODES, PODS, SECRETS } from '@tidegate/kube';
import { answerJson, WIDGETS } from '@tidegate/kube/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TooManyWatchesError, ViewTooLargeError } from './errors.ts';
import { objectOf } from './item.ts';
import { bearer, keyOfView, ViewsRig } from './testing/views-rig.ts';
import type { View, ViewKey } from './view.ts';

const names = (view: View): string[] => [...view.items()].map((item) => item.key.slice(8)).sort();
const soon = (): AbortSignal => new AbortController().signal;
const app = 'sa:default:app:1';

const widget = (name: string, version: string, fields: object = {}): KubeObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, namespace: 'default', resourceVersion: version },
  ...fields,
});
const listOf = (version: string, ...items: KubeObject[]): KubeList => ({
  apiVersion: 'example.com/v1',
  kind: 'WidgetList',
  metadata: { resourceVersion: version },
  items,
});

describe('Views', () => {
  let rig: ViewsRig;
  beforeEach(async () => {
    rig = await new ViewsRig({
      limits: {
        viewBytes: 5_000,
        lists: { perIdentity: 3, total: 6 },
        bytes: { perIdentity: 6_000, total: 100_000 },
      },
    }).start();
  });
  afterEach(async () => {
    await rig.end();
    expect(rig.clock.pending).toBe(0);
    expect(rig.openClients).toBe(0);
    expect(rig.upstream.listeners).toBe(0);
  });

  const listRequests = (): number =>
    rig.server.requests.filter(({ url }) => !url.searchParams.has('watch')).length;
  const counted = async (name: string): Promise<number> => {
    const line = (await rig.metrics.scrape()).split('\n').find((l) => l.startsWith(name));
    return Number(line?.split(' ').at(-1) ?? 0);
  };

  it('opens one watch upstream for all holders of a view', async () => {
    rig.server.put('a');
    const held = [rig.views.shared(WIDGETS), rig.views.shared(WIDGETS), rig.views.shared(WIDGETS)];
    expect(new Set(held.map(({ view }) => view)).size).toBe(1);
    const { view } = held[0]!;
    await view.ready(soon());
    await rig.until(() => view.state === 'following');
    rig.server.put('b');
    await rig.until(() => view.size === 2);
    expect(rig.server.watchers).toBe(1);
    expect(listRequests()).toBe(1);
    expect(view).toMatchObject({ kind: 'Widget', listKind: 'WidgetList' });
    expect(rig.views.describe()).toMatchObject([
      { identity: 'shared', resource: 'widgets.example.com/v1', state: 'following', objects: 2, clients: 3 },
    ]);
    expect(await counted('tidegate_hub_view_objects{state="following"}')).toBe(2);
    expect(await counted('tidegate_hub_view_relists_total')).toBe(1);
  });

  it('continues from a list that a client has read, without another list', async () => {
    rig.server.put('a');
    const list = listOf('101', widget('a', '101'));
    expect(await rig.views.store(keyOfView(app), list)).toBe('stored');
    rig.server.put('b');
    const { view, release } = rig.views.private(keyOfView(app), bearer('one'));
    await rig.until(() => names(view).join() === 'a,b');
    expect(listRequests()).toBe(0);
    expect(rig.server.requests[0]!.headers.authorization).toBe('Bearer one');
    release();
  });

  it('follows a view for a while after its last client left, and then only stores it', async () => {
    rig.server.put('a');
    const first = rig.views.private(keyOfView(app), bearer('one'));
    await rig.until(() => first.view.state === 'following');
    first.release();
    first.release();
    await rig.clock.advance(200_000);
    const second = rig.views.private(keyOfView(app), bearer('one'));
    expect(second.view).toBe(first.view);
    await rig.clock.advance(400_000);
    expect(second.view.size).toBe(1);
    second.release();
    await rig.until(() => rig.views.describe()[0]!.state === 'stored', 10_000);
    await rig.until(() => rig.server.watchers === 0 && rig.openClients === 0, 10_000);
    const found = rig.views.find(keyOfView(app))!;
    await found.view.ready(soon());
    expect(names(found.view)).toEqual(['a']);
    found.release();
    expect(rig.views.find(keyOfView('sa:default:other:2'))).toBeUndefined();
  });

  it('serves stored views after a restart without the API server, and resumes their watches later', async () => {
    rig.server.put('a');
    rig.server.put('b');
    const before = rig.views.shared(WIDGETS);
    await rig.until(() => before.view.state === 'following');
    rig.upstream.turn(false);
    rig.server.drop();
    await rig.restart();
    const { view } = rig.views.shared(WIDGETS);
    await view.ready(soon());
    expect(names(view)).toEqual(['a', 'b']);
    expect(view).toMatchObject({ state: 'stored', kind: 'Widget', resourceVersion: '102' });
    const received: string[] = [];
    view.subscribe((changes) => received.push(...changes.map(({ type, item }) => `${type} ${item.key}`)));
    rig.server.remove('a');
    rig.server.put('c');
    rig.upstream.turn(true);
    await rig.until(() => received.length === 2);
    expect(received).toEqual(['delete default/a', 'put default/c']);
    expect(listRequests()).toBe(1);
  });

  it('turns the list after a 410 into changes', async () => {
    rig.server.put('a');
    rig.server.put('b');
    const { view } = rig.views.shared(WIDGETS);
    await rig.until(() => view.state === 'following');
    const received: string[] = [];
    view.subscribe((changes) => received.push(...changes.map(({ type, item }) => `${type} ${item.key}`)));
    rig.upstream.turn(false);
    rig.server.drop();
    rig.server.remove('a');
    rig.server.put('c');
    rig.server.compact();
    rig.upstream.turn(true);
    await rig.until(() => view.state === 'following' && received.length === 2, 100);
    expect(received).toEqual(['put default/c', 'delete default/a']);
    expect(await counted('tidegate_hub_view_relists_total')).toBe(2);
  });

  it('rejects clients of an empty view while the API server is unreachable', async () => {
    rig.upstream.turn(false);
    const { view } = rig.views.private(keyOfView(app), bearer('one'));
    await expect(view.ready(soon())).rejects.toThrow('is unreachable');
    rig.server.put('a');
    rig.upstream.turn(true);
    await view.ready(soon());
    expect(names(view)).toEqual(['a']);
  });

  it('rejects waiting clients when the API server becomes unreachable', async () => {
    rig.server.intercept = () => true; // Never answers.
    const { view } = rig.views.private(keyOfView(app), bearer('one'));
    const ready = view.ready(soon());
    await rig.until(() => rig.server.requests.length === 1);
    rig.upstream.turn(false);
    await expect(ready).rejects.toThrow('is unreachable');
  });

  it('ends watches and deletes the copy when the API server revokes the permission', async () => {
    rig.server.put('a');
    const { view, release } = rig.views.private(keyOfView(app), bearer('one'));
    await rig.until(() => view.state === 'following');
    const refused: string[] = [];
    view.onRefused((why) => refused.push(why.message));
    rig.server.failNext({ code: 403 });
    rig.server.end();
    await rig.until(() => refused.length === 1, 1_000);
    expect(view).toMatchObject({ state: 'empty', size: 0 });
    await expect(view.ready(soon())).rejects.toThrow('injected error 403');
    const again = rig.views.private(keyOfView(app), bearer('one'));
    await rig.until(() => again.view.state === 'following');
    expect(names(again.view)).toEqual(['a']);
    release();
    again.release();
    rig.server.failNext({ code: 403 });
    rig.server.end();
    await rig.until(() => rig.views.describe().length === 0, 1_000);
    await rig.restart();
    expect(rig.views.describe()).toEqual([]);
  });

  it('retries refused shared views, and serves the stored objects meanwhile', async () => {
    rig.server.failNext({ code: 404 });
    const { view } = rig.views.shared(WIDGETS);
    await expect(view.ready(soon())).rejects.toThrow('injected error 404');
    rig.server.put('a');
    await rig.until(() => view.state === 'following', 10_000);
    rig.server.failNext({ code: 403 });
    rig.server.end();
    await rig.until(() => view.state === 'stored');
    expect(names(view)).toEqual(['a']);
    await rig.until(() => view.state === 'following', 10_000);
    for (let i = 0; i < 2; i++) rig.server.failNext({ code: 404 });
    rig.server.end();
    await rig.until(() => view.size === 0, 10_000);
  });

  it('uses the newest credentials of an identity', async () => {
    const { view } = rig.views.private(keyOfView(app), bearer('old'));
    await rig.until(() => view.state === 'following');
    rig.views.private(keyOfView(app), bearer('new'));
    rig.server.end();
    await rig.until(() => rig.server.requests.at(-1)!.headers.authorization === 'Bearer new', 1_000);
    expect(rig.openClients).toBe(1);
  });

  it('does not store views that exceed the size limit', async () => {
    const data = 'x'.repeat(6_000);
    const large = listOf('101', widget('large', '101', { data }));
    expect(await rig.views.store(keyOfView(app), large)).toBe('too large');
    expect(rig.views.find(keyOfView(app))).toBeUndefined();
    rig.server.put('large', { data });
    const { view } = rig.views.private(keyOfView(app), bearer('one'));
    await expect(view.ready(soon())).rejects.toThrow('exceed the limit of 5000 bytes');
    const requests = rig.server.requests.length;
    await expect(rig.views.private(keyOfView(app), bearer('one')).view.ready(soon())).rejects.toThrow('5000');
    expect(rig.server.requests).toHaveLength(requests);
    expect(await counted('tidegate_hub_view_too_large_total')).toBe(2);
    const shared = rig.views.shared(WIDGETS);
    await shared.view.ready(soon());
  });

  it('evicts the least recently used views of a client that has too many, but none that is in use', async () => {
    const selecting = (labelSelector: string): ViewKey => keyOfView(app, { labelSelector });
    const kept = rig.views.private(selecting('a'), bearer('a'));
    for (const selector of ['b', 'c', 'd', 'e', 'f']) {
      await rig.views.store(selecting(selector), listOf('101', widget('w', '101')));
      await rig.clock.advance(1_000);
    }
    expect(rig.views.describe().map(({ labelSelector }) => labelSelector)).toEqual(['a', 'd', 'e', 'f']);
    expect(await counted('tidegate_hub_view_evictions_total')).toBe(2);
    kept.release();
  });

  it('deletes the views of an identity that is dropped', async () => {
    rig.server.put('a');
    const { view } = rig.views.private(keyOfView(app), bearer('one'));
    await rig.until(() => view.state === 'following');
    await rig.views.store(keyOfView(app, { namespace: 'default' }), listOf('101', widget('a', '101')));
    const refused: string[] = [];
    view.onRefused((why) => refused.push(why.message));
    const dropped = rig.views.dropIdentity(app);
    // A client with the same identity reads again at once. Its new view must survive.
    await rig.views.store(keyOfView(app), listOf('101', widget('a', '101')));
    await dropped;
    expect(refused).toEqual([
      'widgets.example.com: the hub no longer trusts the identity that the objects were read with',
    ]);
    await rig.restart();
    expect(rig.views.describe()).toMatchObject([{ identity: app, namespace: '', objects: 1 }]);
    const found = await rig.views.covering(app, WIDGETS, 'default', 'a');
    expect(found.result).toBe('found');
  });

  it('deletes what could answer a read that the API server forbids, and nothing else', async () => {
    const keys = [
      keyOfView(app),
      keyOfView(app, { namespace: 'default' }),
      keyOfView(app, { namespace: 'default', labelSelector: 'a=b' }),
      keyOfView(app, { namespace: 'default', fieldSelector: 'metadata.name=a' }),
      keyOfView(app, { namespace: 'default', fieldSelector: 'metadata.name=b' }),
      keyOfView(app, { namespace: 'other' }),
      keyOfView('token:other', { namespace: 'default' }),
    ];
    const left = (): number[] => keys.flatMap((key, i) => (rig.views.has(key) ? [i] : []));
    const store = async (): Promise<void> => {
      for (const key of keys) await rig.views.store(key, listOf('101', widget('a', '101')));
    };
    await rig.end();
    rig = await new ViewsRig().start();
    const v2 = { ...WIDGETS, version: 'v2' };
    await store();
    await rig.views.forbid(app, v2, 'default', 'a');
    expect(left()).toEqual([4, 5, 6]);
    await store();
    await rig.views.forbid(app, WIDGETS, 'default', '');
    expect(left()).toEqual([5, 6]);
    await store();
    await rig.views.forbid(app, WIDGETS, '', '');
    expect(left()).toEqual([6]);
    await rig.restart();
    expect(left()).toEqual([6]);
  });

  it('unloads an idle view when its last subscriber leaves', async () => {
    rig.server.put('a');
    const { view, release } = rig.views.private(keyOfView(app), bearer('t'));
    await rig.until(() => view.state === 'following');
    const unsubscribe = view.subscribe(() => {});
    release();
    await rig.clock.advance(5 * 60_000);
    await rig.until(() => rig.openClients === 0);
    unsubscribe();
    // The next hold reads the view from disk, into another MemoryView.
    const again = rig.views.find(keyOfView(app));
    expect(again?.view).not.toBe(view);
    await again?.view.ready(soon());
    expect(again?.view.size).toBe(1);
    again?.release();
  });

  describe('covering', () => {
    const lookUp = async (name: string, namespace = 'default', identity = app): Promise<string> => {
      const found = await rig.views.covering(identity, WIDGETS, namespace, name);
      return found.result === 'found' ? `${objectOf(found.item).metadata.resourceVersion}` : found.result;
    };

    it('looks up an object in all views of the identity, and in no others', async () => {
      await rig.views.store(
        keyOfView(app, { namespace: 'default', labelSelector: 'a=b' }),
        listOf('110', widget('labeled', '105')),
      );
      expect(await lookUp('labeled')).toBe('105');
      expect(await lookUp('other')).toBe('unknown');
      expect(await lookUp('labeled', 'default', 'sa:default:other:2')).toBe('unknown');
      await rig.views.store(keyOfView(app, { namespace: 'default' }), listOf('120', widget('plain', '115')));
      expect(await lookUp('plain')).toBe('115');
      expect(await lookUp('other')).toBe('absent');
      expect(await lookUp('labeled')).toBe('absent');
      expect(await lookUp('plain', 'elsewhere')).toBe('unknown');
    });

    it('finds objects that a GET has stored, until a GET or a watch reports their deletion', async () => {
      await rig.views.rememberObject(app, WIDGETS, widget('one', '105'));
      await rig.views.rememberObject(app, WIDGETS, widget('two', '106'));
      await rig.restart();
      expect(await lookUp('one')).toBe('105');
      await rig.views.rememberObject(app, WIDGETS, widget('one', '107'));
      expect(await lookUp('one')).toBe('107');
      await rig.views.forgetObject(app, WIDGETS, 'default', 'one');
      expect(await lookUp('one')).toBe('unknown');

      rig.server.put('two');
      const selector = keyOfView(app, { labelSelector: 'a=b' });
      const { view } = rig.views.private(selector, bearer('one'));
      await rig.until(() => view.state === 'following');
      await rig.views.rememberObject(app, WIDGETS, widget('two', '101'));
      expect(rig.views.describe()).toHaveLength(2);
      rig.server.remove('two');
      await rig.until(async () => (await lookUp('two')) === 'unknown');
    });

    it('finds what the node wrote offline, until the API server sends the object', async () => {
      const list = keyOfView(app, { namespace: 'default' });
      await rig.views.store(list, listOf('110', widget('a', '105', { value: 1 })));
      await rig.views.rememberObject(app, WIDGETS, widget('a', '105', { value: 1 }));
      rig.upstream.turn(false);
      const { view } = rig.views.private(list, bearer('one'));
      await view.ready(soon());
      await rig.views.overlay(app, WIDGETS, widget('a', '105', { value: 2 }));
      expect(objectOf(view.get('default/a')!).value).toBe(2);
      await rig.restart();
      const found = await rig.views.covering(app, WIDGETS, 'default', 'a');
      expect(found.result === 'found' && objectOf(found.item).value).toBe(2);
      await rig.views.store(list, listOf('110', widget('a', '105', { value: 1 })));
      await rig.views.rememberObject(app, WIDGETS, widget('a', '105', { value: 1 }));
      const confirmed = await rig.views.covering(app, WIDGETS, 'default', 'a');
      expect(confirmed.result === 'found' && objectOf(confirmed.item).value).toBe(1);
    });
  });

  describe('views of many clients', () => {
    const greedy = 'sa:greedy:app:1';
    const selected = (identity: string, i: number): ViewKey =>
      keyOfView(identity, { labelSelector: `x!=${i}` });
    const followed = (identity: string): number =>
      rig.views.describe().filter((view) => view.identity === identity && view.state === 'following').length;

    it('survive the lists of a client that stores many, also on disk', async () => {
      await rig.views.store(keyOfView(app), listOf('110', widget('a', '105')));
      await rig.views.rememberObject('node', SECRETS, { ...widget('s', '105'), kind: 'Secret' });
      for (let i = 0; i < 30; i++)
        for (const identity of [greedy, 'sa:greedy:app:2', 'sa:greedy:app:3'])
          await rig.views.store(selected(identity, i), listOf('110', widget('a', '105')));
      await rig.restart();
      expect(rig.views.has(keyOfView(app))).toBe(true);
      expect(rig.views.describe().filter(({ identity }) => identity.startsWith('sa:'))).toHaveLength(6);
      expect((await rig.views.covering('node', SECRETS, 'default', 's')).result).toBe('found');
    });

    it('are followed up to a limit, and views without clients make place', async () => {
      rig.server.put('a');
      const held = [0, 1, 2].map((i) => rig.views.private(selected(greedy, i), bearer('one')));
      await rig.until(() => followed(greedy) === 3);
      expect(() => rig.views.private(selected(greedy, 3), bearer('one'))).toThrow(TooManyWatchesError);
      const again = rig.views.private(selected(greedy, 0), bearer('one'));
      const other = rig.views.private(selected(app, 3), bearer('two'));
      await rig.until(() => followed(app) === 1);
      held[1]!.release();
      const instead = rig.views.private(selected(greedy, 3), bearer('one'));
      await rig.until(() => instead.view.state === 'following' && followed(greedy) === 3);
      expect(await counted('tidegate_hub_view_unfollowed_watches_total')).toBe(1);
      for (const { release } of [...held, again, other, instead]) release();
    });

    it('are not limited while no API server is reachable', async () => {
      for (let i = 0; i < 3; i++)
        await rig.views.store(selected(greedy, i), listOf('110', widget('a', '105')));
      await rig.views.store(keyOfView(app), listOf('110', widget('a', '105')));
      const held = [0, 1, 2].map((i) => rig.views.private(selected(greedy, i), bearer('one')));
      rig.upstream.turn(false);
      const fourth = rig.views.private(selected(greedy, 4), bearer('one'));
      await expect(fourth.view.ready(soon())).rejects.toThrow('unreachable');
      for (const { release } of [...held, fourth]) release();
    });

    it('are not followed if their objects exceed what a client may use of the memory', async () => {
      for (let i = 0; i < 10; i++) rig.server.put(`a-${i}`, { text: 'x'.repeat(200) });
      const first = rig.views.private(selected(greedy, 0), bearer('one'));
      await rig.until(() => first.view.state === 'following');
      const second = rig.views.private(selected(greedy, 1), bearer('one'));
      await expect(second.view.ready(soon())).rejects.toThrow(ViewTooLargeError);
      const other = rig.views.private(selected(app, 1), bearer('two'));
      await rig.until(() => other.view.state === 'following');
      second.release();
      first.release();
      other.release();
    });
  });

  describe('views that the kubelet depends on', () => {
    const pods = keyOfView('node', { resource: PODS, fieldSelector: 'spec.nodeName=edge' });
    let uid: string;
    beforeEach(async () => {
      uid = 'the-uid';
      const node = (): object => ({ apiVersion: 'v1', kind: 'Node', metadata: { name: 'edge', uid } });
      rig.server.intercept = ({ url }, response) =>
        url.pathname === '/api/v1/nodes/edge' && answerJson(response, node());
      const metadata = { name: 'edge', uid, resourceVersion: '1' };
      await rig.views.rememberObject('node', NODES, { apiVersion: 'v1', kind: 'Node', metadata });
      rig.server.put('a');
    });

    it('keep their objects after an empty list from a server of another cluster', async () => {
      const { view } = rig.views.private(pods, bearer('unused'));
      await rig.until(() => view.state === 'following');
      uid = 'another cluster';
      rig.server.freeze();
      rig.server.remove('a');
      rig.server.compact();
      rig.server.sendError(410, 'Expired');
      await rig.until(async () => (await counted('tidegate_hub_view_rejected_empty_lists_total')) > 1, 1_000);
      expect(view.state).toBe('stored');
      expect(await rig.views.store(pods, listOf('300'))).toBe('rejected');
      uid = 'the-uid';
      await rig.until(() => view.size === 0, 1_000);
    });

    it('keep their objects when the API server refuses them', async () => {
      await rig.views.store(pods, listOf('101', widget('a', '101')));
      const { view } = rig.views.private(pods, bearer('unused'));
      rig.server.failNext({ code: 403 });
      const refused: Error[] = [];
      view.onRefused((why) => refused.push(why));
      await rig.until(() => refused.length === 1);
      expect(names(view)).toEqual(['a']);
      const secret = keyOfView('node', { resource: SECRETS, fieldSelector: 'metadata.name=a' });
      expect(rig.views.find(secret)).toBeUndefined();
    });
  });
});
