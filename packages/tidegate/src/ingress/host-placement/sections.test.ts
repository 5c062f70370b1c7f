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

describe('the section of a router in shared pods', () => {
  it('is the lowest free number, and stays', () => {
    const routers = [router('a', 'front', 1), router('b', 'front', 3), router('c', 'back', 2)];
    expect(sectionFor('b', 'front', routers)).toBe(3);
    expect(sectionFor('d', 'front', routers)).toBe(2);
    expect(sectionFor('d', 'back', routers)).toBe(1);
  });

  it('is missing when all numbers are in use', () => {
    const routers = Array.from({ length: 250 }, (_, index) => router(`r${index}`, 'front', index + 1));
    expect(sectionFor('r7', 'front', routers)).toBe(8);
    expect(sectionFor('new', 'front', routers)).toBeUndefined();
  });
});
