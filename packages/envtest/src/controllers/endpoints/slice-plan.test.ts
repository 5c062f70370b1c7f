import type { EndpointSlice } from '@tidegate/kube';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SliceGroup } from './slice-groups.ts';
import { planSlices, type SlicePlan, TRIGGER_TIME, type WantedSlices } from './slice-plan.ts';
import { service } from './testing.ts';

const owner = service({});
const endpoint = (n: number, ready = true): SliceGroup['endpoints'][number] => ({
  addresses: [`127.64.1.${n}`],
  conditions: { ready },
  targetRef: { kind: 'Pod', namespace: 'default', name: `p${n}` },
});
const group = (port: number, endpoints: SliceGroup['endpoints']): SliceGroup => ({
  addressType: 'IPv4',
  ports: [{ name: '', port, protocol: 'TCP' }],
  endpoints,
});
const wanted = (groups: SliceGroup[], more: Partial<WantedSlices> = {}): WantedSlices => ({
  owner,
  labels: { app: 'web' },
  groups,
  maxEndpoints: 3,
  ...more,
});

let names = 0;
/** Applies a plan as the API server would. */
function apply(existing: readonly EndpointSlice[], plan: SlicePlan): EndpointSlice[] {
  const removed = new Set(plan.remove.map(({ metadata }) => metadata.name));
  const updated = new Map(plan.update.map((slice) => [slice.metadata.name, slice]));
  const kept = existing
    .filter(({ metadata }) => !removed.has(metadata.name))
    .map((slice) => updated.get(slice.metadata.name) ?? slice);
  const created = plan.create.map((slice) => ({
    ...slice,
    metadata: { ...slice.metadata, name: `${slice.metadata.generateName}${names++}` },
  }));
  return [...kept, ...created];
}
const writesOf = ({ create, update, remove }: SlicePlan) => [create.length, update.length, remove.length];
const startWith = (...groups: SliceGroup[]) => apply([], planSlices(wanted(groups), []));

describe('planSlices', () => {
  it('fills slices and sets their owner', () => {
    const slices = startWith(
      group(
        80,
        [1, 2, 3, 4].map((n) => endpoint(n)),
      ),
    );
    expect(slices.map(({ endpoints }) => endpoints.length)).toEqual([3, 1]);
    expect(slices[0]).toMatchObject({
      metadata: {
        generateName: 'web-',
        namespace: 'default',
        labels: { app: 'web' },
        ownerReferences: [{ kind: 'Service', name: 'web', uid: 'service-uid', controller: true }],
      },
      addressType: 'IPv4',
      ports: [{ port: 80 }],
    });
  });

  it('writes only the slice that contains a change', () => {
    const all = [1, 2, 3, 4].map((n) => endpoint(n));
    const slices = startWith(group(80, all));
    expect(writesOf(planSlices(wanted([group(80, all)]), slices))).toEqual([0, 0, 0]);
    const plan = planSlices(wanted([group(80, [endpoint(1, false), ...all.slice(1)])]), slices);
    expect(writesOf(plan)).toEqual([0, 1, 0]);
    expect(plan.update[0]?.endpoints.map(({ conditions }) => conditions?.ready)).toEqual([false, true, true]);
  });

  it('uses free room before it creates a slice', () => {
    const slices = startWith(
      group(
        80,
        [1, 2, 3, 4].map((n) => endpoint(n)),
      ),
    );
    const six = [1, 2, 3, 4, 5, 6].map((n) => endpoint(n));
    expect(writesOf(planSlices(wanted([group(80, six)]), slices))).toEqual([0, 1, 0]);
    // One endpoint is removed and one is added: the slice that must be written anyway takes the new one.
    const plan = planSlices(
      wanted([group(80, [endpoint(1), endpoint(2), endpoint(4), endpoint(5)])]),
      slices,
    );
    expect(writesOf(plan)).toEqual([0, 1, 0]);
    expect(plan.update[0]?.metadata.name).toBe(slices[0]?.metadata.name);
  });

  it('rewrites a slice instead of deleting it and creating another', () => {
    const slices = startWith(group(80, [endpoint(1)]));
    const moved = planSlices(wanted([group(8080, [endpoint(1)])]), slices);
    expect(writesOf(moved)).toEqual([0, 1, 0]);
    expect(moved.update[0]).toMatchObject({
      metadata: { name: slices[0]?.metadata.name },
      ports: [{ port: 8080 }],
    });
    const emptied = planSlices(wanted([{ addressType: 'IPv4', ports: [], endpoints: [] }]), slices);
    expect(writesOf(emptied)).toEqual([0, 1, 0]);
    const placeholder = apply(slices, emptied);
    expect(placeholder).toMatchObject([{ ports: [], endpoints: [] }]);
    expect(writesOf(planSlices(wanted([group(80, [endpoint(1)])]), placeholder))).toEqual([0, 1, 0]);
  });

  it('does not reuse slices of a deleted Service with the same name', () => {
    const slices = startWith(group(80, [endpoint(1)]));
    const successor = service({}, { uid: 'another-uid' });
    const plan = planSlices(wanted([group(80, [endpoint(1)])], { owner: successor }), slices);
    expect(writesOf(plan)).toEqual([1, 0, 1]);
  });

  it('follows labels; the trigger time accompanies a write but never causes one', () => {
    const groups = [group(80, [endpoint(1)])];
    const slices = apply([], planSlices(wanted(groups, { triggerTime: 'T1' }), []));
    expect(slices[0]?.metadata.annotations).toEqual({ [TRIGGER_TIME]: 'T1' });
    expect(writesOf(planSlices(wanted(groups, { triggerTime: 'T2' }), slices))).toEqual([0, 0, 0]);
    const plan = planSlices(wanted(groups, { labels: { app: 'shop' } }), slices);
    expect(plan.update[0]?.metadata).toMatchObject({ labels: { app: 'shop' }, annotations: {} });
  });

  const groupsArbitrary = fc
    .uniqueArray(fc.record({ n: fc.nat(12), port: fc.constantFrom(80, 81), ready: fc.boolean() }), {
      selector: ({ n }) => n,
    })
    .map((pods) => {
      const of = (port: number) =>
        pods.filter((p) => p.port === port).map(({ n, ready }) => endpoint(n, ready));
      const groups = [80, 81]
        .map((port) => group(port, of(port)))
        .filter(({ endpoints }) => endpoints.length > 0);
      return groups.length > 0 ? groups : [{ addressType: 'IPv4' as const, ports: [], endpoints: [] }];
    });

  it('reaches any state from any other without duplicate endpoints, and then makes no further writes', () => {
    fc.assert(
      fc.property(fc.array(groupsArbitrary, { minLength: 1, maxLength: 6 }), (steps) => {
        let slices: EndpointSlice[] = [];
        for (const groups of steps) {
          slices = apply(slices, planSlices(wanted(groups), slices));
          const content = (of: readonly Pick<SliceGroup, 'ports' | 'endpoints'>[]) =>
            of.flatMap(({ ports, endpoints }) => endpoints.map((e) => JSON.stringify([ports, e]))).sort();
          expect(content(slices as SliceGroup[])).toEqual(content(groups));
          for (const { endpoints } of slices) expect(endpoints.length).toBeLessThanOrEqual(3);
          expect(slices.length).toBeGreaterThan(0);
          expect(writesOf(planSlices(wanted(groups), slices))).toEqual([0, 0, 0]);
        }
      }),
    );
  });
});
