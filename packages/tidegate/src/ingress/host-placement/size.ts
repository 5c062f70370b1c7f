/** How much of a router hosts need, and how much a router has. Pure. */
import type { RouterCapacity } from '../../api/index.ts';

export interface Size {
  readonly hosts: number;
  /** Paths and default backends. */
  readonly rules: number;
  readonly certificates: number;
  /** Backends. One that several hosts use counts for each. */
  readonly upstreams: number;
  /** Of the names of hosts, paths and backends. */
  readonly bytes: number;
}

export const NOTHING: Size = { hosts: 0, rules: 0, certificates: 0, upstreams: 0, bytes: 0 };

const KEYS = ['hosts', 'rules', 'certificates', 'upstreams', 'bytes'] as const;

const LIMITS = {
  hosts: 'maxHosts',
  rules: 'maxRules',
  certificates: 'maxCertificates',
  upstreams: 'maxUpstreams',
  bytes: 'maxBytes',
} as const;

const combine = (a: Size, b: Size, sign: 1 | -1): Size => ({
  hosts: a.hosts + sign * b.hosts,
  rules: a.rules + sign * b.rules,
  certificates: a.certificates + sign * b.certificates,
  upstreams: a.upstreams + sign * b.upstreams,
  bytes: a.bytes + sign * b.bytes,
});

export const plus = (a: Size, b: Size): Size => combine(a, b, 1);
export const minus = (a: Size, b: Size): Size => combine(a, b, -1);

export const isSameSize = (a: Size | undefined, b: Size): boolean =>
  a !== undefined && KEYS.every((key) => a[key] === b[key]);

/** The first limit that the size exceeds. */
export function excess(
  size: Size,
  capacity: RouterCapacity,
): { needed: number; what: string; limit: number; parameter: string } | undefined {
  for (const what of KEYS) {
    const parameter = LIMITS[what];
    const limit = capacity[parameter];
    if (limit !== undefined && size[what] > limit) return { needed: size[what], what, limit, parameter };
  }
  return undefined;
}
