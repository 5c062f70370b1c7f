import type { KubeList } from '@tidegate/kube';
import { VirtualClock, WIDGETS } from '@tidegate/kube/testing';
import { describe, expect, it } from 'vitest';
import { objectOf } from './item.ts';
import { PageAssembler } from './pages.ts';
import type { ViewKey } from './view.ts';

const key = (identity = 'a'): ViewKey => ({
  identity,
  resource: WIDGETS,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
});

const page = (version: string, names: string[], next?: string): KubeList => {
  const items = names.map((name) => ({ metadata: { name, namespace: 'default' } }));
  const metadata = { resourceVersion: version, ...(next === undefined ? {} : { continue: next }) };
  // Items of lists of built-in types have neither apiVersion nor kind.
  return { apiVersion: 'example.com/v1', kind: 'WidgetList', metadata, items: items as KubeList['items'] };
};

describe('PageAssembler', () => {
  const clock = new VirtualClock();
  const assembler = () =>
    new PageAssembler(clock, { perIdentity: 3_000, total: 6_000 }, (identity) => ({
      identity,
      tenant: identity,
    }));
  const names = (list: ReturnType<PageAssembler['add']>) => list?.items.map((item) => item.key);

  it('returns the list when the last page has arrived', () => {
    const pages = assembler();
    expect(pages.add(key(), undefined, page('7', ['a', 'b'], 'one'))).toBeUndefined();
    expect(pages.add(key(), 'one', page('7', ['c'], 'two'))).toBeUndefined();
    const list = pages.add(key(), 'two', page('7', ['d'], ''));
    expect(list).toMatchObject({ listKind: 'WidgetList', resourceVersion: '7' });
    expect(names(list)).toEqual(['default/a', 'default/b', 'default/c', 'default/d']);
    expect(objectOf(list!.items[3]!)).toMatchObject({ apiVersion: 'example.com/v1', kind: 'Widget' });
  });

  it('accepts a list with a single page', () => {
    expect(names(assembler().add(key(), undefined, page('7', ['a'])))).toEqual(['default/a']);
  });

  it('does not mix the pages of different identities', () => {
    const pages = assembler();
    pages.add(key('a'), undefined, page('7', ['secret'], 'one'));
    expect(pages.add(key('b'), 'one', page('7', ['c']))).toBeUndefined();
    expect(names(pages.add(key('a'), 'one', page('7', ['d'])))).toEqual(['default/secret', 'default/d']);
  });

  it('drops pages when the version changes between them', () => {
    const pages = assembler();
    pages.add(key(), undefined, page('7', ['a'], 'one'));
    expect(pages.add(key(), 'one', page('8', ['b']))).toBeUndefined();
    expect(pages.add(key(), 'one', page('7', ['b']))).toBeUndefined();
  });

  it('drops pages when the next one does not arrive in time', async () => {
    const pages = assembler();
    pages.add(key(), undefined, page('7', ['a'], 'one'));
    await clock.advance(300_000);
    expect(pages.add(key(), 'one', page('7', ['b']))).toBeUndefined();
  });

  it('drops pages that exceed the size limit', () => {
    const pages = assembler();
    const many = Array.from({ length: 40 }, (_, i) => `widget-${i}`);
    pages.add(key(), undefined, page('7', many, 'one'));
    expect(pages.add(key(), 'one', page('7', ['b']))).toBeUndefined();
  });

  it('drops no pages of other clients for those of one', () => {
    const pages = assembler();
    pages.add(key('victim'), undefined, page('7', ['a'], 'one'));
    for (let i = 0; i < 50; i++)
      for (const identity of ['greedy', 'greedy too'])
        pages.add(key(identity), undefined, page('7', ['b'], `of ${i}`));
    expect(names(pages.add(key('victim'), 'one', page('7', ['c'])))).toEqual(['default/a', 'default/c']);
    expect(pages.add(key('greedy'), 'of 0', page('7', ['c']))).toBeUndefined();
    expect(names(pages.add(key('greedy'), 'of 49', page('7', ['c'])))).toEqual(['default/b', 'default/c']);
  });
});
