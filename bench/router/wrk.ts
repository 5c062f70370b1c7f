import { execFile } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { program } from '../programs.ts';
import { hostName, PATHS } from './routes.ts';

/** Results of the load generator. Latencies are in milliseconds. */
export interface Load {
  requests: number;
  perSecond: number;
  p50: number;
  p99: number;
}

const CONNECTIONS = 64;

/** Writes a wrk script that sends requests to all hosts in turn over kept connections. */
export async function wrkScript(directory: string, hosts: number): Promise<string> {
  const file = join(directory, `requests-${hosts}.lua`);
  const [before = '', after = ''] = hostName(0).split('0');
  await writeFile(
    file,
    `local requests = {}
local paths = { ${PATHS.map((path) => JSON.stringify(`${path}${path === '/' ? '' : '/'}x`)).join(', ')} }
local at = 0
init = function()
  for i = 0, ${hosts - 1} do
    requests[i] = wrk.format("GET", paths[i % #paths + 1], { Host = "${before}" .. i .. "${after}" })
  end
end
request = function()
  at = (at + 7919) % ${hosts}
  return requests[at]
end
`,
  );
  return file;
}

export async function runWrk(url: string, script: string, seconds: number): Promise<Load> {
  const args = ['-t2', `-c${CONNECTIONS}`, `-d${seconds}s`, '--latency', '-s', script, url];
  const { stdout } = await promisify(execFile)(program('wrk', 'wrk'), args);
  const bad = /Non-2xx or 3xx responses: \d+|Socket errors: .*/.exec(stdout)?.[0];
  if (bad !== undefined) throw new Error(`requests to ${url} failed: ${bad}`);
  return {
    requests: Number(/(\d+) requests in/.exec(stdout)?.[1]),
    perSecond: Number(/Requests\/sec:\s+([\d.]+)/.exec(stdout)?.[1]),
    p50: milliseconds(stdout, '50%'),
    p99: milliseconds(stdout, '99%'),
  };
}

function milliseconds(output: string, share: string): number {
  const [, value, unit = ''] = new RegExp(`^ +${share} +([\\d.]+)(us|ms|s)`, 'm').exec(output) ?? [];
  return Number(value) * ({ us: 0.001, ms: 1, s: 1000 }[unit] ?? Number.NaN);
}
