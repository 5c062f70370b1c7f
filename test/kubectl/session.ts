/**
 * The environment of one case: its own namespace, a kubeconfig for it, an empty discovery cache, and bash with kubectl
 * first in PATH. `close` removes everything.
 */
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import {
  isAlreadyExists,
  isNotFound,
  KubeClient,
  loadConfig,
  NAMESPACES,
  SERVICE_ACCOUNTS,
} from '@tidegate/kube';
import { eventually } from '../support/cluster.ts';
import { findKubectl, KUBECTL_ENV } from '../support/kubectl.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { run, TestProcess } from '../support/process.ts';

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

/**
 * The cluster of all sessions. Namespaces are created and deleted without kubectl, because each start of kubectl takes a
 * tenth of a second of CPU time.
 */
export class Target {
  readonly #config: Config;
  readonly #client: KubeClient;

  private constructor(config: Config, client: KubeClient) {
    this.#config = config;
    this.#client = client;
  }

  static async open(kubeconfig: string): Promise<Target> {
    const command = [findKubectl(), '--kubeconfig', kubeconfig];
    const view = await run([...command, 'config', 'view', '--raw', '--flatten', '--minify', '-o', 'json']);
    const client = new KubeClient(await loadConfig({ path: kubeconfig, env: {} }));
    return new Target(JSON.parse(view) as Config, client);
  }

  /** Prepares a home directory and an empty namespace. The kubeconfig of the caller is not changed. */
  async openSession(topic: string): Promise<Session> {
    const home = await mkdtemp(join(tmpdir(), 'kubectl-'));
    const namespace = `t-${topic}`;
    await this.#delete(namespace);
    await eventually(`namespace ${namespace} is deleted`, () => this.#isGone(namespace));
    await this.#client.create(NAMESPACES, {
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name: namespace },
    });
    await this.#createAccount(namespace);
    const env = await environment(home, await writeConfig(home, this.#config, namespace));
    return {
      server: this.#config.clusters[0]?.cluster.server ?? '',
      run: (script) => runBash(script, env),
      close: async () => {
        await this.#delete(namespace);
        await rm(home, { recursive: true, force: true });
      },
    };
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #delete(namespace: string): Promise<void> {
    await this.#client.delete(NAMESPACES, { name: namespace }).catch((error) => {
      if (!isNotFound(error)) throw error;
    });
  }

  #isGone(namespace: string): Promise<true | undefined> {
    return this.#client.get(NAMESPACES, { name: namespace }).then(
      () => undefined,
      (error) => {
        if (isNotFound(error)) return true;
        throw error;
      },
    );
  }

  /** Pods need the account, whether or not a controller creates it. */
  async #createAccount(namespace: string): Promise<void> {
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'default', namespace } };
    await this.#client.create(SERVICE_ACCOUNTS, account).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
  }
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
