import type { Tone } from './dom.ts';
import type { NodeRow } from './wire.ts';

export type LinkState = 'in step' | 'behind' | 'cut' | 'empty';

export interface PoolLink {
  state: LinkState;
  /** When the first node was lost (RFC 3339). */
  since?: string;
}

export const LINK_TONES: Readonly<Record<LinkState, Tone>> = {
  'in step': 'good',
  behind: 'warn',
  cut: 'bad',
  empty: 'quiet',
};

/** Whether the cloud hears from the node. Embedded clusters know when a link is cut; others notice that reports are missing. */
export const isLost = ({ ready }: NodeRow, cut: boolean | undefined): boolean =>
  cut === true || ready === 'Unknown';

/** The link of a pool: `cut` if the cloud hears from none of its nodes, `behind` if it hears from some. */
export function poolLink(nodes: readonly { node: NodeRow; cut?: boolean }[]): PoolLink {
  if (nodes.length === 0) return { state: 'empty' };
  const lost = nodes.filter(({ node, cut }) => isLost(node, cut));
  if (lost.length === 0) return { state: 'in step' };
  const times = lost.flatMap(({ node }) => (node.ready === 'Unknown' ? (node.since ?? []) : [])).sort();
  return { state: lost.length === nodes.length ? 'cut' : 'behind', since: times[0] };
}

export function linkText({ state, since }: PoolLink): string {
  if (state === 'empty') return 'no nodes';
  return since === undefined ? state : `${state} since ${timeText(since)}`;
}

/** The state of one node. */
export function nodeState(node: NodeRow, cut: boolean | undefined): { tone: Tone; text: string } {
  if (cut === true) return { tone: 'bad', text: 'link cut' };
  if (node.ready === 'True') return { tone: 'good', text: 'ready' };
  const since = node.since === undefined ? '' : ` since ${timeText(node.since)}`;
  return node.ready === 'False'
    ? { tone: 'warn', text: `not ready${since}` }
    : { tone: 'bad', text: `not heard from${since}` };
}

/** In the time zone of the user; with the date if it is not today. */
export function timeText(time: string, now = new Date()): string {
  const date = new Date(time);
  if (Number.isNaN(date.getTime())) return time;
  const isToday = date.toDateString() === now.toDateString();
  return isToday ? date.toLocaleTimeString() : date.toLocaleString();
}
