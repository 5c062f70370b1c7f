import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cluster } from '../support/cluster.ts';
import { findKubectl } from '../support/kubectl.ts';
import { type CommandBlock, commandBlocks, comparable, isRepeatable, matches } from './blocks.ts';
import { Shell } from './shell.ts';

const ROOT = join(import.meta.dirname, '../..');
const PATIENCE_MS = 90_000;
/** `UPDATE_DOCS=1` writes the output of commands into the page where it differs. */
const UPDATE = process.env.UPDATE_DOCS === '1';

/**
 * Readers start the cluster with npm in another terminal. Here it runs already, with a free port and in a directory of
 * its own, so these two only have to exist. Any other npm command on a page fails.
 */
const NPM = `npm() {
  case "$*" in
    ci | test) ;;
    start) [ -s .tidegate/kubeconfig ] ;;
    *) echo "no test runs npm $*" >&2; return 1 ;;
  esac
}`;

interface BlockFailure {
  readonly message: string;
  /** What the page should show instead. */
  readonly output?: string;
}

/** A page of the documentation, and a cluster to run its commands against. */
export class Page {
  readonly cluster: Cluster;
  readonly blocks: readonly CommandBlock[];
  readonly #shell: Shell;
  readonly #directory: string;
  readonly #name: string;
  readonly #replacements: [shown: string, output: string][] = [];

  private constructor(name: string, blocks: readonly CommandBlock[], cluster: Cluster, directory: string) {
    this.#name = name;
    this.blocks = blocks;
    this.cluster = cluster;
    this.#directory = directory;
    const bin = join(directory, 'scratch/bin');
    this.#shell = new Shell({
      cwd: directory,
      env: {
        PATH: [bin, dirname(process.execPath), process.env.PATH].join(':'),
        HOME: directory,
        CURL_HOME: join(directory, 'scratch'),
        TMPDIR: join(directory, 'scratch'),
      },
      preamble: NPM,
      scratch: join(directory, 'scratch'),
    });
  }

  /** The directory looks like a checkout to the commands; its `.tidegate` is the state of the cluster. */
  static async open(name: string): Promise<Page> {
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-docs-'));
    try {
      for (const entry of ['bin', 'examples', 'deploy', 'docs', 'package.json'])
        await symlink(join(ROOT, entry), join(directory, entry));
      await mkdir(join(directory, 'scratch/bin'), { recursive: true });
      await symlink(findKubectl(), join(directory, 'scratch/bin/kubectl'));
      // In a terminal curl shows no progress when it prints the answer; through a pipe it would.
      await writeFile(join(directory, 'scratch/.curlrc'), 'silent\nshow-error\n');
      await mkdir(join(directory, '.tidegate'), { mode: 0o700 });
      const blocks = commandBlocks(await readFile(join(ROOT, name), 'utf8'));
      return new Page(name, blocks, await Cluster.open(join(directory, '.tidegate')), directory);
    } catch (error) {
      await rm(directory, { recursive: true, force: true });
      throw error;
    }
  }

  /**
   * Runs one block. A block that only reads runs again until it shows what the page shows, because the cluster needs a
   * moment after a change; a block that writes runs once.
   */
  async run(block: CommandBlock): Promise<void> {
    const end = Date.now() + PATIENCE_MS;
    for (;;) {
      const problem = await this.#failureOf(block);
      if (problem === undefined) return;
      const isFinal = !isRepeatable(block.commands) || Date.now() > end;
      if (isFinal && problem.output !== undefined && block.output !== undefined && UPDATE) {
        this.#replacements.push([block.output, problem.output.trim()]);
        return;
      }
      if (isFinal) throw new Error(`${this.#name}:${block.line}: ${problem.message}\n\n${block.commands}`);
      await sleep(500);
    }
  }

  async #failureOf({ commands, output: shown }: CommandBlock): Promise<BlockFailure | undefined> {
    const { output, failure } = await this.#shell.run(commands);
    // The page shows that a command is rejected.
    const rejected = shown !== undefined && /^(?:error|Error)\b/m.test(shown);
    if (failure !== undefined && !rejected) return { message: `${failure}\n${output}` };
    if (failure === undefined && rejected) return { message: `no command was rejected\n${output}` };
    if (shown === undefined) return undefined;
    const [expected, actual] = [comparable(shown), comparable(output)];
    if (matches(expected, actual)) return undefined;
    const message = `the output differs from the page.\nOn the page:\n${expected.join('\n')}\nNow:\n${actual.join('\n')}`;
    return { message, output };
  }

  async close(): Promise<void> {
    await this.#update();
    await this.#shell.close();
    await this.cluster.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #update(): Promise<void> {
    if (this.#replacements.length === 0) return;
    const file = join(ROOT, this.#name);
    const text = this.#replacements.reduce(
      (page, [shown, output]) => page.replace(shown, () => output),
      await readFile(file, 'utf8'),
    );
    await writeFile(file, text);
  }
}
