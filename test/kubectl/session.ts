/**
 * The environment of one case: its own namespace, a kubeconfig for it, an empty discovery cache, and bash with kubectl
 * first in PATH. `close` removes everything.
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { findKubectl, KUBECTL_ENV } from '../support/kubectl.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { TestProcess } from '../support/process.ts';

const FOLDER = import.meta.dirname;
const COMMAND_TIMEOUT_MS = PATIENCE_MS;

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
    ...KUBECTL_ENV,
    LC_ALL: 'C',
    TZ: 'UTC',
  };
}

async function mustRun(run: Session['run'], script: string): Promise<string> {
  const { output, exitCode } = await run(script);
  if (exitCode !== 0) throw new Error(`${script}: exit ${exitCode}: ${output}`);
  return output;
}

async function runBash(script: string, env: Record<string, string>): Promise<Result> {
  // A single pipe for both streams keeps the order of the output.
  const child = new TestProcess(['bash', '-c', `exec 2>&1\n${script}`], { cwd: FOLDER, env, detached: true });
  // A script that waits for ever ends here, so that its output is shown. SIGKILL goes to its whole process group.
  const timer = setTimeout(() => process.kill(-child.pid, 'SIGKILL'), COMMAND_TIMEOUT_MS);
  const { code } = await child.exited.finally(() => clearTimeout(timer));
  if (code !== null) return { output: child.output, exitCode: code };
  // Rendered as output, so that the rest of the case is still shown.
  return { output: `${child.output}\n(killed: no end within ${COMMAND_TIMEOUT_MS} ms)`, exitCode: 137 };
}
