/**
 * `npm run bench -- placement`: what a plan costs after one host was added, with few and with many hosts. Placement should
 * cost as much as the change, so both should cost about the same.
 */
import { Placement } from '../../packages/tidegate/src/ingress/host-placement/placement.ts';

const SIZE = { hosts: 1, rules: 1, certificates: 0, upstreams: 1, bytes: 40 };
const CHANGES = 2_000;

export async function benchPlacement(): Promise<void> {
  console.log('| Hosts | first plan | a new host | a new host below a wildcard |');
  console.log('| ----- | ---------- | ---------- | --------------------------- |');
  for (const hosts of [100, 1_000, 10_000]) {
    const { placement, plan, first } = filled(hosts);
    const single = perChange((index) => {
      placement.put(`new-${index}.io`, SIZE);
      plan();
    });
    placement.put('*.example', SIZE);
    plan();
    const below = perChange((index) => {
      placement.put(`new-${index}.example`, SIZE);
      plan();
    }, 50);
    console.log(`| ${hosts} | ${first.toFixed(1)} ms | ${text(single)} | ${text(below)} |`);
  }
}

const text = (ms: number): string => `${(ms * 1_000).toFixed(0)} µs`;

function filled(hosts: number) {
  const placement = new Placement();
  let version = 0;
  let made = 0;
  let routers: { name: string; version: string }[] = [];
  const plan = (): void => {
    const result = placement.plan({
      limits: { maxHosts: 100_000 },
      rulesForAll: 0,
      // The lists are not read again while the version is the one that was written.
      routers: routers.map((each) => ({ ...each, hosts: [], leaving: [], serving: true, deleting: false })),
      drainMs: 0,
      now: 0,
      compareAge: (a, b) => (a < b ? -1 : Number(a !== b)),
      newName: () => `r${++made}`,
    });
    for (const { name } of result.routers) {
      const written = { name, version: `${++version}` };
      routers = [...routers.filter((each) => each.name !== name), written];
      placement.wrote(name, written.version);
    }
  };
  for (let index = 0; index < hosts; index++) placement.put(`host-${index}.example`, SIZE);
  const started = performance.now();
  plan();
  return { placement, plan, first: performance.now() - started };
}

function perChange(change: (index: number) => void, changes = CHANGES): number {
  const started = performance.now();
  for (let index = 0; index < changes; index++) change(index);
  return (performance.now() - started) / changes;
}
