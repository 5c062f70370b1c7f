import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { request } from 'undici';
import { residentMiB, stop } from '../apiserver/servers.ts';
import type { Cluster } from './cluster.ts';
import { NODE } from './objects.ts';

const PROGRAM = new URL('../../bin/tidegate', import.meta.url).pathname;

export interface HubProcess {
  pid: number;
  /** The plain HTTP URL for programs of the node. */
  url: string;
  /** The sum of a metric over all of its labels. */
  metric(name: string): Promise<number>;
  residentMiB(): number;
  /** The maximum resident memory since the start. */
  peakMiB(): number;
  stop(): Promise<void>;
}

/**
 * Starts `tidegate hub` as on a node. `state` is the name of its directory; with a new name, the hub starts
 * without stored data.
 */
export async function startHubProcess(cluster: Cluster, state: string): Promise<HubProcess> {
  const { directory, kubeconfig } = cluster;
  // The certificate of the API server is valid for this machine.
  const pki = (file: string): string => join(directory, 'data', 'pki', file);
  const ports = ['--http-port', '0', '--https-port', '0', '--admin-port', '0', '--hub-address', '127.0.0.1'];
  const tls = ['--tls-cert-file', pki('apiserver.crt'), '--tls-private-key-file', pki('apiserver.key')];
  const node = ['--node-name', NODE, '--kubeconfig', kubeconfig, '--state', join(directory, state)];
  const child = spawn(PROGRAM, ['hub', ...node, ...ports, ...tls, '--log-level', 'warn'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const pid = child.pid ?? 0;
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`tidegate hub ended with code ${code}`)));
  });
  const url = / (http:[^ ;,]+)/.exec(line)?.[1] ?? '';
  const admin = /admin at (\S+?)\.?$/m.exec(line)?.[1] ?? '';
  return {
    pid,
    url,
    metric: async (name) => sum(await (await request(`${admin}/metrics`)).body.text(), name),
    residentMiB: () => residentMiB(pid),
    peakMiB: () => peakMiB(pid),
    stop: () => stop(child),
  };
}

function sum(metrics: string, name: string): number {
  const lines = metrics
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
  return lines.reduce((total, line) => total + Number(line.slice(line.lastIndexOf(' ') + 1)), 0);
}

/** The kernel records the peak of the resident memory as VmHWM. */
function peakMiB(pid: number): number {
  const line = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Math.round(Number(line?.[1] ?? 0) / 1024);
}
