import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface ShellOptions {
  cwd: string;
  env: Record<string, string>;
  /** Runs before the first block; for example functions that replace programs. */
  preamble: string;
  /** For the files that the blocks are sourced from. */
  scratch: string;
}

export interface BlockResult {
  output: string;
  /** The first command that failed, with its status; undefined when all succeeded. */
  failure: string | undefined;
}

/** One bash that runs blocks in order, as a reader does: variables and functions stay from block to block. */
export class Shell {
  readonly #child: ChildProcess;
  readonly #scratch: string;
  readonly #marker = `end-${randomBytes(8).toString('hex')}`;
  #received = '';
  #exited = false;
  #onData: () => void = () => {};

  constructor({ cwd, env, preamble, scratch }: ShellOptions) {
    this.#scratch = scratch;
    this.#child = spawn('/bin/bash', ['--noprofile', '--norc'], {
      cwd,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const keep = (chunk: Buffer): void => {
      this.#received += chunk.toString();
      this.#onData();
    };
    this.#child.stdout?.on('data', keep);
    this.#child.stderr?.on('data', keep);
    this.#child.once('close', () => {
      this.#exited = true;
      this.#onData();
    });
    // The ERR trap sees failures in functions too, and none in conditions, as `set -e` would.
    this.#child.stdin?.write(`exec 2>&1\nset -o pipefail -o errtrace\n${preamble}\n`);
  }

  async run(commands: string): Promise<BlockResult> {
    const file = join(this.#scratch, `${randomBytes(4).toString('hex')}.sh`);
    await writeFile(file, `${commands}\n`);
    this.#received = '';
    this.#child.stdin?.write(
      [
        '__failure=',
        `trap '[ -n "$__failure" ] || __failure="status $?: $BASH_COMMAND"' ERR`,
        `. ${file}`,
        'trap - ERR',
        `printf '\\n%s %s\\n' ${this.#marker} "$__failure"`,
        '',
      ].join('\n'),
    );
    const end = new RegExp(`\\n${this.#marker} ?(.*)\\n`, 's');
    for (;;) {
      const found = end.exec(this.#received);
      if (found !== null) {
        const output = this.#received.slice(0, found.index);
        return { output, failure: found[1] === '' ? undefined : found[1] };
      }
      if (this.#exited) throw new Error(`the shell ended in ${commands}: ${this.#received}`);
      await new Promise<void>((resolve) => {
        this.#onData = resolve;
      });
    }
  }

  async close(): Promise<void> {
    if (this.#exited) return;
    const closed = new Promise((resolve) => this.#child.once('close', resolve));
    this.#child.stdin?.end('exit\n');
    await closed;
  }
}
