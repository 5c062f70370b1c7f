import { describe, expect, it } from 'vitest';
import type { L7Router } from '../../api/index.ts';
import { sectionFor } from './sections.ts';

const router = (name: string, sharedPods: string, section?: number): L7Router => ({
  apiVersion: 'networking.tidegate.io/v1alpha1',
  kind: 'L7Router',
  metadata: { name },
  spec: {
    ingressClassName: name,
    driver: 'nginx',
    workload: { sharedPods, ...(section !== undefined && { section }) },
  },
});

const NONE = new Map<number, string>();

describe('the section of a router in shared pods', () => {
  it('is the lowest free number, and stays', () => {
    const routers = [router('a', 'front', 1), router('b', 'front', 3), router('c', 'back', 2)];
    expect(sectionFor('b', 'front', routers, NONE)).toBe(3);
    expect(sectionFor('d', 'front', routers, NONE)).toBe(2);
    expect(sectionFor('d', 'back', routers, NONE)).toBe(1);
  });

  it('is not that of a router whose Service still leads to the pods', () => {
    const led = new Map([
      [1, 'moved'],
      [2, 'b'],
    ]);
    const routers = [router('b', 'front', 2)];
    expect(sectionFor('d', 'front', routers, led)).toBe(3);
    expect(sectionFor('moved', 'front', routers, led)).toBe(1);
    expect(sectionFor('moved', 'front', [router('b', 'front', 1)], led)).toBe(3);
  });

  it('is missing when all numbers are in use', () => {
    const routers = Array.from({ length: 250 }, (_, index) => router(`r${index}`, 'front', index + 1));
    expect(sectionFor('r7', 'front', routers, NONE)).toBe(8);
    expect(sectionFor('new', 'front', routers, NONE)).toBeUndefined();
  });
});
