import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { createPublicKey } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Agent, request } from 'undici';
import { endWithParent, stop } from './servers.ts';

/** The programs of the reference. */
interface Programs {
  kubeApiServer: string;
  etcd: string;
}

/** A kube-apiserver with an etcd. */
export interface RunningKubernetes {
  /** The versions of both programs. */
  name: string;
  url: string;
  pids: number[];
  stop(): Promise<void>;
}

/** The path in the environment variable, or else the program in PATH. */
function locate(variable: string, name: string): string | undefined {
  const given = process.env[variable];
  if (given !== undefined && given !== '') {
    if (!existsSync(given))
      throw new Error(`${variable}=${given} does not exist: set it to the path of ${name}`);
    return given;
  }
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.map((folder) => join(folder, name)).find((path) => existsSync(path));
}

/** Undefined if one of them is not installed. */
export function kubernetesPrograms(): Programs | undefined {
  const kubeApiServer = locate('BENCH_KUBE_APISERVER', 'kube-apiserver');
  const etcd = locate('BENCH_ETCD', 'etcd');
  return kubeApiServer === undefined || etcd === undefined ? undefined : { kubeApiServer, etcd };
}

/**
 * Starts etcd and kube-apiserver with their default options, with the keys and certificates of an embedded API server in
 * `pki`, so that the same client certificate is valid for both.
 */
export async function startKubernetes(
  programs: Programs,
  directory: string,
  pki: string,
  agent: Agent,
): Promise<RunningKubernetes> {
  await mkdir(directory, { recursive: true });
  const [client, peer, port] = await freePorts(3);
  const etcdUrl = `http://127.0.0.1:${client}`;
  const peerUrl = `http://127.0.0.1:${peer}`;
  const etcd = start(
    programs.etcd,
    {
      'data-dir': join(directory, 'etcd'),
      'listen-client-urls': etcdUrl,
      'advertise-client-urls': etcdUrl,
      'listen-peer-urls': peerUrl,
      'initial-advertise-peer-urls': peerUrl,
      'initial-cluster': `default=${peerUrl}`,
      'log-level': 'error',
    },
    join(directory, 'etcd.log'),
  );
  const children = [etcd];
  const end = async (): Promise<void> => {
    for (const child of children.reverse()) await stop(child);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await untilReady(etcd, join(directory, 'etcd.log'), `${etcdUrl}/health`);
    // kube-apiserver does not read the public key from the file with the private key.
    const tokenKey = join(directory, 'sa.pub');
    const publicKey = createPublicKey(readFileSync(join(pki, 'sa.key')));
    writeFileSync(tokenKey, publicKey.export({ type: 'spki', format: 'pem' }));
    const server = start(
      programs.kubeApiServer,
      {
        'etcd-servers': etcdUrl,
        'bind-address': '127.0.0.1',
        'secure-port': String(port),
        'cert-dir': join(directory, 'certificates'),
        'tls-cert-file': join(pki, 'apiserver.crt'),
        'tls-private-key-file': join(pki, 'apiserver.key'),
        'client-ca-file': join(pki, 'ca.crt'),
        'service-account-issuer': 'https://kubernetes.default.svc.cluster.local',
        'service-account-key-file': tokenKey,
        'service-account-signing-key-file': join(pki, 'sa.key'),
        'service-cluster-ip-range': '10.96.0.0/16',
        'authorization-mode': 'Node,RBAC',
      },
      join(directory, 'kube-apiserver.log'),
    );
    children.push(server);
    const url = `https://127.0.0.1:${port}`;
    await untilReady(server, join(directory, 'kube-apiserver.log'), `${url}/readyz`, agent);
    return { name: versions(programs), url, pids: children.map((child) => child.pid ?? 0), stop: end };
  } catch (error) {
    await end();
    throw error;
  }
}

/** For example `kube-apiserver v1.36.4 with etcd 3.5.30`. */
function versions({ kubeApiServer, etcd }: Programs): string {
  const line = (path: string): string =>
    (execFileSync(path, ['--version'], { encoding: 'utf8' }).split('\n', 1)[0] ?? '').replace(/^.*[: ]/, '');
  return `kube-apiserver ${line(kubeApiServer)} with etcd ${line(etcd)}`;
}

function start(path: string, options: Record<string, string>, log: string): ChildProcess {
  const args = Object.entries(options).map(([option, value]) => `--${option}=${value}`);
  const file = openSync(log, 'w');
  const child = spawn(path, args, { stdio: ['ignore', file, file] });
  closeSync(file);
  endWithParent(child);
  return child;
}

async function untilReady(child: ChildProcess, log: string, url: string, dispatcher?: Agent): Promise<void> {
  const answers = async (): Promise<boolean> => {
    const { statusCode, body } = await request(url, { dispatcher });
    await body.dump();
    return statusCode === 200;
  };
  while (!(await answers().catch(() => false))) {
    if (child.exitCode !== null)
      throw new Error(
        `${child.spawnfile} ended with code ${child.exitCode}: ${readFileSync(log, 'utf8').slice(-1000)}`,
      );
    await sleep(50);
  }
}

/** Ports that are free now. All are open at the same time, so they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  const ports = await Promise.all(
    servers.map(
      (server) =>
        new Promise<number>((resolve, reject) => {
          server.once('error', reject);
          server.listen(0, '127.0.0.1', () => resolve((server.address() as { port: number }).port));
        }),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}
