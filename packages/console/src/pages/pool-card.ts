import { badge, h, type Tone } from '../dom.ts';
import { LINK_TONES, linkText, nodeState, type PoolLink, poolLink } from '../links.ts';
import type { Context } from '../page.ts';
import { CLOUD, nameOfPool, type PoolId, type Store } from '../store.ts';
import type { NodeRow, RouterRow } from '../wire.ts';

/** With more nodes than this, a card shows squares without names. */
const MOST_NAMES = 8;

const linkOfPool = (store: Store, id: PoolId): PoolLink =>
  poolLink(store.inPool('Node', id).map((node) => ({ node, cut: store.get('Link', node.key)?.cut })));

/** The card of a pool, and the names in it. */
export function poolCard(
  store: Store,
  id: PoolId,
): { link: PoolLink; nodes: string[]; doors: string[]; card: HTMLElement } {
  const nodes = store.inPool('Node', id);
  const doors = store.inPool('L7Router', id);
  const link = linkOfPool(store, id);
  const ready = nodes.filter(({ ready }) => ready === 'True').length;
  const card = h(
    'article',
    { class: 'card', 'aria-label': `Pool ${nameOfPool(id)}` },
    h('header', {}, h('h2', {}, nameOfPool(id)), badge(LINK_TONES[link.state], linkText(link))),
    h(
      'p',
      { class: 'quiet' },
      `${id.split('/')[0]}, ${link.state === 'in step' ? '' : 'last reported: '}${ready} of ${nodes.length} nodes ready`,
    ),
    nodes.length > 0 && nodeList(store, nodes),
    doors.length > 0 && doorList(doors),
  );
  return { link, nodes: nodes.map(({ key }) => key), doors: doors.map(({ key }) => key), card };
}

/** What is in the cloud: the API server, and nodes and front doors that belong to no pool. */
export function cloudCard({ store, hello }: Context): HTMLElement[] {
  const nodes = store.inPool('Node', CLOUD);
  const doors = store.inPool('L7Router', CLOUD);
  const parts = [
    h('header', {}, h('h2', {}, 'Cloud'), h('span', { class: 'quiet mono' }, hello()?.server ?? '')),
  ];
  if (nodes.length > 0) parts.push(nodeList(store, nodes));
  if (doors.length > 0) parts.push(doorList(doors));
  return parts;
}

function nodeList(store: Store, nodes: readonly NodeRow[]): HTMLElement {
  const isDense = nodes.length > MOST_NAMES;
  return h(
    'ul',
    { class: isDense ? 'nodes dense' : 'nodes', 'aria-label': 'Nodes' },
    ...nodes.map((node) => {
      const { tone, text } = nodeState(node, store.get('Link', node.key)?.cut);
      const title = `${node.key}: ${text}`;
      return h('li', { class: tone, title, 'aria-label': title }, h('span', {}, node.key));
    }),
  );
}

const DOOR_TONES: Readonly<Record<RouterRow['ready'], Tone>> = {
  True: 'good',
  False: 'bad',
  Unknown: 'warn',
};
const DOOR_WORDS: Readonly<Record<RouterRow['ready'], string>> = {
  True: 'ready',
  False: 'not ready',
  Unknown: 'state unknown',
};

const doorBadge = ({ ready }: RouterRow): HTMLElement => badge(DOOR_TONES[ready], DOOR_WORDS[ready]);

const doorList = (doors: readonly RouterRow[]): HTMLElement =>
  h(
    'ul',
    { class: 'doors', 'aria-label': 'Front doors' },
    ...doors.map((door) =>
      h(
        'li',
        { title: door.message },
        h('span', {}, `Front door ${door.key}`),
        doorBadge(door),
        h('span', { class: 'mono quiet' }, door.addresses.join(' ') || 'no address yet'),
      ),
    ),
  );
