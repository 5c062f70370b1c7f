import { button, empty, fill, h, searchField } from '../dom.ts';
import type { LinkState } from '../links.ts';
import type { Context, OpenPage } from '../page.ts';
import { Changed, CLOUD, nameOfPool, type PoolId } from '../store.ts';
import { cloudCard, poolCard } from './pool-card.ts';

const FILTERS: readonly LinkState[] = ['in step', 'behind', 'cut', 'empty'];

interface Card {
  element: HTMLElement;
  link: LinkState;
  /** Lower case: the names of the pool, its nodes and its front doors. */
  words: string;
}

/** The cloud and all pools. Each pool is a card that is built again only when something of the pool changes. */
export const mapPage: OpenPage = (context) => {
  const cards = new Map<PoolId, Card>();
  const cloud = h('section', { class: 'cloud', 'aria-label': 'Cloud' });
  const grid = h('div', { class: 'grid', role: 'list', 'aria-label': 'Pools' });
  const message = h('div', { 'aria-live': 'polite' });
  const filters = h('div', { class: 'actions', role: 'group', 'aria-label': 'Show pools with this link' });
  let query = '';
  let only: LinkState | undefined;

  const isShown = ({ link, words }: Card): boolean =>
    (only === undefined || link === only) && words.includes(query);

  const showFilters = (): void => {
    const count = (state: LinkState): number =>
      [...cards.values()].filter(({ link }) => link === state).length;
    const toggle = (state: LinkState | undefined, label: string): HTMLElement =>
      button(label, () => choose(state), { 'aria-pressed': String(only === state) });
    fill(
      filters,
      toggle(undefined, `all ${cards.size}`),
      ...FILTERS.filter((state) => count(state) > 0 || only === state).map((state) =>
        toggle(state, `${state === 'empty' ? 'no nodes' : state} ${count(state)}`),
      ),
    );
  };

  const show = (): void => {
    let shown = 0;
    for (const card of cards.values()) {
      card.element.hidden = !isShown(card);
      if (!card.element.hidden) shown += 1;
    }
    fill(message, shown > 0 ? undefined : emptyText(context, cards.size > 0));
  };

  const choose = (state: LinkState | undefined): void => {
    only = state;
    showFilters();
    show();
  };

  const build = (id: PoolId): void => {
    const old = cards.get(id);
    if (!context.store.hasPool(id)) {
      old?.element.remove();
      cards.delete(id);
      return;
    }
    const { link, nodes, doors, card } = poolCard(context.store, id);
    const element = old?.element ?? h('div', { class: 'site', role: 'listitem' });
    element.setAttribute('data-link', link.state);
    fill(element, card);
    const words = [nameOfPool(id), ...nodes, ...doors].join('\n').toLowerCase();
    cards.set(id, { element, link: link.state, words });
    if (old === undefined) place(element, id);
  };

  /** Keeps the order by name, so that a card never moves. */
  const place = (element: HTMLElement, id: PoolId): void => {
    const ids = context.store.pools();
    const next = ids.slice(ids.indexOf(id) + 1).find((each) => cards.has(each));
    grid.insertBefore(element, next === undefined ? null : (cards.get(next)?.element ?? null));
  };

  const element = h(
    'div',
    {},
    h(
      'div',
      { class: 'bar' },
      h('h1', {}, 'Map'),
      searchField('Search pools, nodes and front doors', (text) => {
        query = text;
        show();
      }),
      filters,
    ),
    cloud,
    grid,
    message,
  );
  return {
    title: 'Map',
    element,
    update: (changed = everything(context, cards.keys())) => {
      for (const id of changed.pools) if (id !== CLOUD) build(id);
      fill(cloud, ...cloudCard(context));
      showFilters();
      show();
    },
  };
};

function everything({ store }: Context, shown: Iterable<PoolId>): Changed {
  const changed = new Changed();
  for (const id of [...shown, ...store.pools()]) changed.pools.add(id);
  return changed;
}

function emptyText(context: Context, hasPools: boolean): HTMLElement {
  if (context.isLoading('NodePool', 'NodeGroup', 'Node')) return empty('Reading the cluster …');
  if (hasPools) return empty('No pool, node or front door matches.');
  return empty(
    'This cluster has no pools yet.',
    'A pool is the nodes of a site. Create a NodePool or NodeGroup, and it appears here.',
  );
}
