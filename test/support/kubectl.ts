import { existsSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { finish } from './process.ts';
import { repositoryFile } from './repository.ts';

/** The minor version of kubectl; its own messages differ between minor versions. */
const RECORDED_WITH = 'kubectl.1.32';
const FETCHED = repositoryFile('node_modules/.cache/tidegate/kubectl');

/**
 * The kubectl that scripts/setup fetched; otherwise the right one of several in Google's SDK; otherwise that in
 * PATH.
 */
export function findKubectl(): string {
  if (existsSync(FETCHED)) return FETCHED;
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'kubectl')).find((path) => existsSync(path));
  if (!found) throw new Error('kubectl is not in PATH: run scripts/setup');
  const pinned = join(dirname(realpathSync(found)), RECORDED_WITH);
  return existsSync(pinned) ? pinned : found;
}

/**
 * kubectl runs for a moment only, so that it ends before it needs to collect garbage, and a single thread takes less time
 * than several threads that wait for each other. A `kubectl wait` may run longer.
 */
export const KUBECTL_ENV = { GOGC: 'off', GOMEMLIMIT: '200MiB', GOMAXPROCS: '1' };

/** Runs kubectl with the kubeconfig. Resolves to its output; rejects with its output when it fails. */
export class Kubectl {
  readonly #command: readonly string[];

  /** `wrapper` is put before the command, for example a program that runs it in another network namespace. */
  constructor(kubeconfig: string, wrapper: readonly string[] = []) {
    this.#command = [...wrapper, findKubectl(), '--kubeconfig', kubeconfig];
  }

  async run(args: string, input = ''): Promise<string> {
    const command = [...this.#command, ...args.split(' ')];
    const { code, signal, output } = await finish(command, {
      input,
      env: { ...process.env, ...KUBECTL_ENV },
    });
    if (code !== 0) throw new Error(`kubectl ${args}: exited with ${signal ?? code}: ${output}`);
    return output;
  }

  apply(...objects: object[]): Promise<string> {
    return this.run('apply -f -', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
  }

  async json<T>(args: string): Promise<T> {
    return JSON.parse(await this.run(`${args} -o json`)) as T;
  }
}
