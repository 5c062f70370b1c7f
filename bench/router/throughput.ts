import { type Contender, memoryMiB, processorMs } from '../programs.ts';
import { type Figure, millis, quantile } from '../report.ts';
import { startEmbeddedRouter, startHaproxy, startLuaRouter, startStaticNginx } from './contenders.ts';
import type { Routes } from './routes.ts';
import { type Load, runWrk, wrkScript } from './wrk.ts';

/** The routers are measured in turns, so that other load on the machine affects all of them. */
const TURNS = 5;
const SECONDS = 3;
/** Long enough that every worker has served every host once. */
const WARM_UP_SECONDS = 6;

interface Measured extends Load {
  /** Processor time per request. Unlike latency, it does not depend on other load of the machine. */
  microseconds: number;
}

/** Compares throughput and latency of nginx with Lua with each of the others, with the same routes. */
export async function benchThroughput(directory: string, routes: Routes): Promise<Figure[]> {
  const contenders: Contender[] = [];
  try {
    for (const start of [startLuaRouter, startStaticNginx, startHaproxy, startEmbeddedRouter])
      contenders.push(await start(directory, routes));
    const script = await wrkScript(directory, routes.hosts);
    const results = contenders.map((): Measured[] => []);
    for (const { url } of contenders) await runWrk(url, script, WARM_UP_SECONDS);
    for (let turn = 0; turn < TURNS; turn++)
      for (const [index, contender] of contenders.entries())
        results[index]?.push(await measure(contender, script));
    return figures(routes.hosts, contenders, results.map(median));
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()));
  }
}

async function measure({ url, pid }: Contender, script: string): Promise<Measured> {
  const before = processorMs(pid);
  const load = await runWrk(url, script, SECONDS);
  return { ...load, microseconds: (1000 * (processorMs(pid) - before)) / load.requests };
}

function median(samples: Measured[]): Measured {
  const of = (field: keyof Measured): number =>
    quantile(
      samples.map((each) => each[field]),
      0.5,
    );
  return {
    requests: of('requests'),
    perSecond: of('perSecond'),
    p50: of('p50'),
    p99: of('p99'),
    microseconds: of('microseconds'),
  };
}

function figures(hosts: number, contenders: Contender[], results: Measured[]): Figure[] {
  const [ours, ...others] = contenders.map((contender, index) => ({ contender, result: results[index]! }));
  const rows = (
    what: string,
    read: (each: { contender: Contender; result: Measured }) => number,
    show: (value: number) => string,
  ): Figure[] =>
    others.map((other) => ({
      what: `${hosts} hosts, ${what}`,
      value: show(read(ours!)),
      reference: `${other.contender.name} ${show(read(other))}`,
      ratio: (read(ours!) / read(other)).toFixed(2),
    }));
  return [
    ...rows(
      'requests/s',
      ({ result }) => result.perSecond,
      (value) => value.toFixed(0),
    ),
    ...rows('p50', ({ result }) => result.p50, millis),
    ...rows('p99', ({ result }) => result.p99, millis),
    ...rows(
      'processor time per request',
      ({ result }) => result.microseconds,
      (value) => `${value.toFixed(0)} µs`,
    ),
    ...rows(
      'memory',
      ({ contender }) => memoryMiB(contender.pid),
      (value) => `${value.toFixed(0)} MiB`,
    ),
  ];
}
