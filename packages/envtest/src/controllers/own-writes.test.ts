import { type ConfigMap, type Handler, Store } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, it } from 'vitest';
import { OwnWrites } from './own-writes.ts';

const object = (resourceVersion: string, uid = 'u'): ConfigMap => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { namespace: 'ns', name: 'o', uid, resourceVersion },
});

function start() {
  const cache = new Store<ConfigMap>((error) => {
    throw error;
  });
  const clock = new VirtualClock();
  const handlers: Handler<ConfigMap>[] = [];
  const addHandler = (handler: Handler<ConfigMap>) => {
    handlers.push(handler);
    return () => {};
  };
  const deleted = (uid: string): void => {
    cache.delete('ns/o');
    for (const { onDelete } of handlers) onDelete?.(object('9', uid));
  };
  return { cache, clock, deleted, writes: new OwnWrites({ cache, addHandler }, clock) };
}

describe('own writes', () => {
  it('are awaited until the cache shows them or something newer', () => {
    const { cache, writes } = start();
    cache.set(object('5'));
    writes.wrote('owner', object('6'));
    expect(writes.waitMs('owner')).toBe(5000);
    expect(writes.waitMs('another')).toBe(0);
    cache.set(object('7'));
    expect(writes.waitMs('owner')).toBe(0);
  });

  it('that changed nothing are not awaited', () => {
    const { cache, writes } = start();
    cache.set(object('5'));
    writes.wrote('owner', object('5'));
    expect(writes.waitMs('owner')).toBe(0);
  });

  it('can be deletions, which another object of the same name does not hide', () => {
    const { cache, writes } = start();
    cache.set(object('5'));
    writes.deleted('owner', object('5'));
    expect(writes.waitMs('owner')).toBeGreaterThan(0);
    cache.set(object('8', 'another'));
    expect(writes.waitMs('owner')).toBe(0);
  });

  it('are not awaited if the object was deleted, also if its event arrives before the response to the write', () => {
    const { cache, writes, deleted } = start();
    cache.set(object('5'));
    writes.wrote('owner', object('6'));
    deleted('u');
    expect(writes.waitMs('owner')).toBe(0);
    writes.wrote('owner', object('6'));
    expect(writes.waitMs('owner')).toBe(0);
    writes.wrote('owner', object('6', 'another'));
    expect(writes.waitMs('owner')).toBeGreaterThan(0);
  });

  it('are not awaited forever, nor after their owner is gone', async () => {
    const { clock, writes } = start();
    writes.wrote('owner', object('6'));
    await clock.advance(5000);
    expect(writes.waitMs('owner')).toBe(0);
    writes.wrote('owner', object('6'));
    writes.forget('owner');
    expect(writes.waitMs('owner')).toBe(0);
  });
});
