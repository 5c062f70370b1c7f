/**
 * The environment of one case: its own namespace, a kubeconfig for it, an empty discovery cache, and bash with kubectl
 * first in PATH. `close` removes everything.
 */
import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findKubectl } from '../support/kubectl.ts';

const FOLDER = import.meta.dirname;
const COMMAND_TIMEOUT_MS = 40_000;

/** The output of a script, stdout and stderr together, and its exit code. */
export interface Result {
  readonly output: string;
  readonly exitCode: number;
}

/** Runs scripts with kubectl in a namespace of their own. */
export interface Session {
  readonly server: string;
  run(script: string): Promise<Result>;
  close(): Promise<void>;
}

/** Prepares a home directory and an empty namespace. The kubeconfig of the caller is not changed. */
export async function openSession(topic: string, kubeconfig: string): Promise<Session> {
  const home = await mkdtemp(join(tmpdir(), 'kubectl-'));
  const env = await environment(home, kubeconfig);
  const run = (script: string) => runBash(script, env);
  const namespace = `t-${topic}`;
  const config = JSON.parse(
    await mustRun(run, 'kubectl config view --raw --flatten --minify -o json'),
  ) as Config;
  env.KUBECONFIG = await writeConfig(home, config, namespace);
  await mustRun(
    run,
    `kubectl delete namespace ${namespace} --ignore-not-found && kubectl create namespace ${namespace}`,
  );
  // Pods need the account, whether or not a controller creates it.
  await run('kubectl create serviceaccount default');
  return {
    server: config.clusters[0]?.cluster.server ?? '',
    run,
    async close() {
      await mustRun(run, `kubectl delete namespace ${namespace} --wait=false`);
      await rm(home, { recursive: true, force: true });
    },
  };
}

interface Config {
  readonly clusters: readonly { readonly cluster: { readonly server: string } }[];
  readonly contexts: readonly { readonly context: object }[];
}

async function writeConfig(home: string, config: Config, namespace: string): Promise<string> {
  const contexts = config.contexts.map((entry) => ({ ...entry, context: { ...entry.context, namespace } }));
  const path = join(home, 'kubeconfig');
  await writeFile(path, JSON.stringify({ ...config, contexts }), { mode: 0o600 });
  return path;
}

async function environment(home: string, kubeconfig: string): Promise<Record<string, string>> {
  const bin = join(home, 'bin');
  await mkdir(bin);
  await symlink(findKubectl(), join(bin, 'kubectl'));
  return {
    PATH: `${bin}${delimiter}${process.env.PATH ?? ''}`,
    HOME: home,
    KUBECACHEDIR: join(home, 'cache'),
    KUBECONFIG: kubeconfig,
    LC_ALL: 'C',
    TZ: 'UTC',
  };
}

async function mustRun(run: Session['run'], script: string): Promise<string> {
  const { output, exitCode } = await run(script);
  if (exitCode !== 0) throw new Error(`${script}: exit ${exitCode}: ${output}`);
  return output;
}

function runBash(script: string, env: Record<string, string>): Promise<Result> {
  return new Promise((resolve, reject) => {
    // A single pipe for both streams keeps the order of the output.
    const child = spawn('bash', ['-c', `exec 2>&1\n${script}`], {
      cwd: FOLDER,
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const chunks: Buffer[] = [];
    const timer = setTimeout(() => child.pid && process.kill(-child.pid, 'SIGKILL'), COMMAND_TIMEOUT_MS);
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      const output = Buffer.concat(chunks).toString('utf8');
      // Rendered as output, so that the rest of the case is still shown.
      if (code === null)
        resolve({ output: `${output}\n(${signal}: no end within ${COMMAND_TIMEOUT_MS} ms)`, exitCode: 137 });
      else resolve({ output, exitCode: code });
    });
  });
}
