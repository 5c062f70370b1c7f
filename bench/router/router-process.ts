import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { stop } from '../apiserver/servers.ts';

const PROGRAM = new URL('../../bin/tidegate', import.meta.url).pathname;

export interface RouterProcess {
  http: string;
  https: string;
  /** Time from the start until all routes are served. */
  startMs: number;
  pid: number;
  stop(): Promise<void>;
}

/** Starts `tidegate router` as a pod does; resolves when it is ready. */
export async function startRouterProcess(
  directory: string,
  kubeconfig: string,
  dataPlane: string,
): Promise<RouterProcess> {
  const ports = ['--http-port', '0', '--https-port', '0', '--admin-port', '0', '--bind-address', '127.0.0.1'];
  const state = [
    '--state',
    join(directory, dataPlane),
    '--shutdown-delay',
    '1ms',
    '--drain-timeout',
    '1s',
    '--log-level',
    'warn',
  ];
  const args = ['router', '--class', 'bench', '--kubeconfig', kubeconfig, '--data-plane', dataPlane];
  const started = performance.now();
  const child = spawn(PROGRAM, [...args, ...ports, ...state], { stdio: ['ignore', 'pipe', 'inherit'] });
  const line = await new Promise<string>((resolve, reject) => {
    child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString()));
    child.once('exit', (code) => reject(new Error(`tidegate router exited with code ${code}`)));
  });
  const [http = '', https = '', admin = ''] = line.match(/https?:\/\/[\d.:]+/g) ?? [];
  while ((await request(`${admin.replace(/\.$/, '')}/readyz`)).statusCode !== 200) await sleep(10);
  return {
    http,
    https,
    startMs: performance.now() - started,
    pid: child.pid ?? 0,
    stop: () => stop(child),
  };
}
