import type { Handler, Node } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { expect, it } from 'vitest';
import { NODE_POOL_LABEL } from '../../api/index.ts';
import { FreeNodes } from './free-nodes.ts';

const node = (name: string, pool?: string): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name, ...(pool !== undefined && { labels: { [NODE_POOL_LABEL]: pool } }) },
});

/** Free nodes in a cluster with these nodes at the start, and what changes later. */
function follow(...nodes: Node[]) {
  const clock = new VirtualClock();
  let handler: Handler<Node> = {};
  const free = new FreeNodes(
    {
      addHandler: (added) => {
        handler = added;
        for (const each of nodes) added.onAdd?.(each);
        return () => {};
      },
    },
    clock,
  );
  const changes: string[] = [];
  free.onChange(() => changes.push(free.outsidePools));
  return {
    clock,
    free,
    changes,
    add: (each: Node) => handler.onAdd?.(each),
    update: (each: Node) => handler.onUpdate?.(each, each),
    remove: (each: Node) => handler.onDelete?.(each),
  };
}

it('requires nodes outside of pools while there are any', () => {
  const { free, changes, update, remove } = follow(node('a'), node('b'), node('c', 'shop'));
  expect(free.outsidePools).toBe('required');
  update(node('a', 'shop'));
  expect(changes).toEqual([]);
  remove(node('b'));
  expect(changes).toEqual(['preferred']);
});

it('waits until a node that registers has settled outside of pools', async () => {
  const { clock, free, changes, add, update } = follow(node('c', 'shop'));
  expect(free.outsidePools).toBe('preferred');
  add(node('new'));
  await clock.advance(59_000);
  update(node('new', 'shop'));
  await clock.advance(60_000);
  expect(changes).toEqual([]);
  add(node('cloud'));
  add(node('other'));
  await clock.advance(60_000);
  expect(changes).toEqual(['required']);
});

it('leaves no timer when it ends', async () => {
  const { clock, free, changes, add } = follow();
  const stop = new AbortController();
  const running = free.run(stop.signal);
  add(node('a'));
  stop.abort();
  await running;
  add(node('b'));
  expect(clock.pending).toBe(0);
  expect(changes).toEqual([]);
});
