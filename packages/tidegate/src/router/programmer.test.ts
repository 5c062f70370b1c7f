import { Metrics, silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { CapacityError, NeedsFullState } from '../dataplane/driver.ts';
import { Compiler } from '../ingress/compile/index.ts';
import { CLASS, ingress, service, slice } from '../ingress/testing/objects.ts';
import { ExternalNames } from './external-names.ts';
import { Programmer } from './programmer.ts';
import { RecordingDriver } from './testing/recording-driver.ts';

const clock = new VirtualClock();
let driver: RecordingDriver;
let compiler: Compiler;
let programmer: Programmer;
let served: number[];

beforeEach(async () => {
  driver = new RecordingDriver();
  compiler = new Compiler({ classNames: [CLASS], now: () => clock.now() });
  served = [];
  let turns = 0;
  programmer = new Programmer({
    compiler,
    driver,
    names: new ExternalNames({
      resolve: async () => ({ addresses: [], ttlSeconds: 1 }),
      onChange: () => {},
      clock,
      log: silentLogger,
    }),
    onWanted: () => {},
    onOutcomes: () => {},
    checkpoint: () => {
      const turn = ++turns;
      return () => served.push(turn);
    },
    onServed: () => {},
    clock,
    random: () => 1,
    log: silentLogger,
    metrics: new Metrics(),
  });
  compiler.put('Service', service('web'));
  compiler.put('EndpointSlice', slice('web', { '10.0.0.1': {} }));
  compiler.put('Ingress', ingress({ rules: { 'a.io/': 'web:80' } }));
});

const scale = (...addresses: string[]): void => {
  compiler.put('EndpointSlice', slice('web', Object.fromEntries(addresses.map((each) => [each, {}]))));
  programmer.touch('endpoints');
};
const numbers = (): string[] => driver.deltas.map(({ from, to }) => `${from}-${to}`);

describe('with a data plane that applies everything', () => {
  it('sends the full state first, and then differences', async () => {
    await programmer.start();
    scale('10.0.0.2');
    await clock.advance(1);
    expect(numbers()).toEqual(['0-1', '1-2']);
    expect(driver.deltas[1]?.hosts.set).toEqual([]);
    expect(driver.endpoints()).toEqual({ shop_web_80: ['10.0.0.2:8080'] });
    expect(served).toEqual([1, 2]);
  });

  it('sends changes that arrive together as one delta; endpoints do not wait for routes', async () => {
    await programmer.start();
    compiler.put('Ingress', ingress({ name: 'other', rules: { 'b.io/': 'web:80' } }));
    programmer.touch('routes');
    await clock.advance(1);
    expect(numbers()).toEqual(['0-1']);
    scale('10.0.0.2');
    scale('10.0.0.3');
    await clock.advance(1);
    expect(numbers()).toEqual(['0-1', '1-2']);
    expect(driver.hosts()).toEqual(['a.io', 'b.io']);
    await clock.advance(10);
    expect(numbers()).toEqual(['0-1', '1-2']);
  });

  it('serves the stored routes until the first routes are compiled', async () => {
    await programmer.listen(compiler.flush().delta);
    expect(driver.hosts()).toEqual(['a.io']);
    await programmer.start();
    expect(numbers()).toEqual(['0-1', '0-2']);
  });

  it('starts without the stored routes if they do not fit', async () => {
    driver.refusals.push(new CapacityError('full'));
    await programmer.listen(compiler.flush().delta);
    expect(driver.calls).toEqual(['start']);
    expect(driver.hosts()).toEqual([]);
  });

  it('sends nothing before the start and after the end', async () => {
    scale('10.0.0.2');
    await clock.advance(10);
    expect(numbers()).toEqual([]);
    await programmer.start();
    await programmer.end();
    scale('10.0.0.3');
    await clock.advance(10);
    expect(numbers()).toEqual(['0-1']);
  });
});

describe('with a data plane that fails', () => {
  it('sends the full state if the data plane asks for it', async () => {
    await programmer.start();
    driver.refusals.push(new NeedsFullState('restarted'));
    scale('10.0.0.2');
    await clock.advance(1);
    expect(numbers()).toEqual(['0-1', '0-3']);
    expect(programmer.trouble).toBeUndefined();
  });

  it('retries with increasing delays, including all changes in between', async () => {
    await programmer.start();
    driver.refusals.push(new CapacityError('full'), new CapacityError('full'));
    scale('10.0.0.2');
    await clock.advance(1);
    expect(programmer.trouble).toBe('full');
    scale('10.0.0.3');
    await clock.advance(400);
    expect(driver.refusals).toHaveLength(1);
    await clock.advance(200);
    expect(driver.refusals).toHaveLength(0);
    await clock.advance(800);
    expect(numbers()).toEqual(['0-1']);
    expect(served).toEqual([1]);
    await clock.advance(300);
    expect(numbers()).toEqual(['0-1', '0-4']);
    expect(driver.endpoints()).toEqual({ shop_web_80: ['10.0.0.3:8080'] });
    expect(programmer.trouble).toBeUndefined();
    scale('10.0.0.4');
    await clock.advance(1);
    expect(numbers()).toEqual(['0-1', '0-4', '4-5']);
  });
});
