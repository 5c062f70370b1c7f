import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { openStore } from '../../store/index.ts';
import type { Store } from '../../store/types.ts';
import { ServiceAllocator, type ServiceAllocatorOptions } from './allocator.ts';

const now = new Date('2026-01-01T00:00:00Z');
const later = new Date('2026-01-01T00:01:00Z');
const claimant = (owner: string, when = now, dryRun = false) => ({ owner, now: when, dryRun });
const FULL = { clusterIPRange: '10.0.0.0/29', nodePortRange: '30000-30002', random: () => 0 };

async function testStore(): Promise<Store> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-services-'));
  const store = await openStore({ directory });
  onTestFinished(async () => {
    await store.close();
    await rm(directory, { recursive: true });
  });
  return store;
}

function allocator(store: Store, options: ServiceAllocatorOptions = FULL): ServiceAllocator {
  const made = new ServiceAllocator(store, options);
  onTestFinished(() => made.close());
  return made;
}

function write(store: Store, name: string, spec: object | undefined) {
  const value = (body: object | undefined): Buffer =>
    Buffer.from(JSON.stringify({ metadata: { namespace: 'a', name }, spec: body ?? {} }));
  const type = spec === undefined ? ('delete' as const) : ('put' as const);
  return store.write({ resource: 'services', namespace: 'a', name }, () => ({ type, value: value(spec) }));
}

it('allocates every address of the range except the first and the last', async () => {
  const pool = allocator(await testStore());
  const given = Array.from({ length: 6 }, (_, i) => pool.anyAddress(claimant(`a/${i}`)));
  expect(new Set(given)).toEqual(
    new Set(['10.0.0.1', '10.0.0.2', '10.0.0.3', '10.0.0.4', '10.0.0.5', '10.0.0.6']),
  );
  expect(pool.anyAddress(claimant('a/x'))).toBeUndefined();
});

it('does not choose a port on which another program listens, but gives it to a service that asks for it', async () => {
  const pool = allocator(await testStore(), { ...FULL, usedPorts: () => new Set([30000, 30002]) });
  expect(pool.anyPort(claimant('a/x'))).toBe(30001);
  expect(pool.anyPort(claimant('a/y'))).toBeUndefined();
  expect(pool.claimPort(30002, claimant('a/z'))).toBeUndefined();
});

it('follows the services in the store', async () => {
  const store = await testStore();
  await write(store, 'old', {
    clusterIPs: ['10.0.0.1'],
    ports: [{ nodePort: 30000 }],
    healthCheckNodePort: 30001,
  });
  const pool = allocator(store);
  expect(pool.claimAddress('10.0.0.1', claimant('a/x'))).toBe('provided IP is already allocated');
  expect(pool.claimPort(30000, claimant('a/x'))).toBe('provided port is already allocated');
  expect(pool.claimPort(30001, claimant('a/x'))).toBe('provided port is already allocated');
  await write(store, 'old', { clusterIPs: ['None'] });
  expect(pool.claimAddress('10.0.0.1', claimant('a/x'))).toBeUndefined();
  await write(store, 'new', { clusterIPs: ['10.0.0.2'] });
  expect(pool.claimAddress('10.0.0.2', claimant('a/x'))).toBe('provided IP is already allocated');
  await write(store, 'new', undefined);
  expect(pool.claimAddress('10.0.0.2', claimant('a/x'))).toBeUndefined();
});

it('reserves an allocation for one service until it is written or expires', async () => {
  const pool = allocator(await testStore());
  expect(pool.claimAddress('10.0.0.3', claimant('a/x'))).toBeUndefined();
  expect(pool.claimAddress('10.0.0.3', claimant('a/y'))).toBe('provided IP is already allocated');
  expect(pool.claimAddress('10.0.0.3', claimant('a/x'))).toBeUndefined();
  expect(pool.claimAddress('10.0.0.3', claimant('a/y', later))).toBeUndefined();
});

it('reserves nothing in a dry run', async () => {
  const pool = allocator(await testStore());
  const first = pool.anyPort(claimant('a/x', now, true));
  expect(pool.anyPort(claimant('a/y', now, true))).toBe(first);
  expect(pool.claimPort(first ?? 0, claimant('a/z'))).toBeUndefined();
});

it('prefers the upper part of a range', async () => {
  const pool = allocator(await testStore(), { random: () => 0 });
  expect(pool.anyAddress(claimant('a/x'))).toBe('10.96.1.1');
  expect(pool.anyPort(claimant('a/x'))).toBe(30086);
});
