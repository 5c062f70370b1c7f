import { expect, test } from 'vitest';
import { CLASS, ingress, service, slice } from '../testing/objects.ts';
import { Compiler, type Work } from './compiler.ts';

const INGRESSES = 10_000;

const rules = (at: number) => ({
  [`h${at}.example.com/`]: `s${at}:80`,
  [`h${at}.example.com/api`]: `s${at}:80`,
});

function costOf(compiler: Compiler, change: () => void): Work {
  const before = { ...compiler.work };
  change();
  compiler.flush();
  return Object.fromEntries(
    Object.entries(compiler.work).map(([what, count]) => [what, count - before[what as keyof Work]]),
  ) as unknown as Work;
}

test(`with ${INGRESSES} Ingresses, a change computes only what depends on it`, () => {
  const compiler = new Compiler({ classNames: [CLASS], now: () => 0 });
  for (let at = 0; at < INGRESSES; at++) {
    compiler.put('Ingress', ingress({ name: `i${at}`, rules: rules(at) }));
    compiler.put('Service', service(`s${at}`));
    compiler.put('EndpointSlice', slice(`s${at}`, { '10.0.0.1': {} }));
  }
  compiler.flush();

  const nothing: Work = { hosts: 0, upstreams: 0, certificates: 0, outcomes: 0 };
  const endpoint = () => compiler.put('EndpointSlice', slice('s7', { '10.0.0.1': {}, '10.0.0.2': {} }));
  expect(costOf(compiler, endpoint)).toEqual({ ...nothing, upstreams: 1 });
  const lost = () => compiler.put('EndpointSlice', slice('s7', {}));
  expect(costOf(compiler, lost)).toEqual({ ...nothing, upstreams: 1, outcomes: 1 });
  const status = () =>
    compiler.put('Ingress', { ...ingress({ name: 'i7', rules: rules(7) }), status: { loadBalancer: {} } });
  expect(costOf(compiler, status)).toEqual(nothing);
  const moved = () => compiler.put('Ingress', ingress({ name: 'i7', rules: rules(INGRESSES) }));
  expect(costOf(compiler, moved)).toEqual({ ...nothing, hosts: 2, upstreams: 1, outcomes: 1 });
  const unused = () => compiler.put('Service', service('unused'));
  expect(costOf(compiler, unused)).toEqual(nothing);
});
