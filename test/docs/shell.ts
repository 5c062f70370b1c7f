import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestProcess } from '../support/process.ts';

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
  readonly #bash: TestProcess;
  readonly #scratch: string;
  readonly #marker = `end-${randomBytes(8).toString('hex')}`;

  constructor({ cwd, env, preamble, scratch }: ShellOptions) {
    this.#scratch = scratch;
    this.#bash = new TestProcess(['/bin/bash', '--noprofile', '--norc'], { cwd, env, interactive: true });
    // The ERR trap sees failures in functions too, and none in conditions, as `set -e` would.
    this.#bash.write(`exec 2>&1\nset -o pipefail -o errtrace\n${preamble}\n`);
  }

  async run(commands: string): Promise<BlockResult> {
    const file = join(this.#scratch, `${randomBytes(4).toString('hex')}.sh`);
    await writeFile(file, `${commands}\n`);
    const start = this.#bash.output.length;
    this.#bash.write(
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
    await this.#bash.until(({ output }) => end.test(output.slice(start)));
    const received = this.#bash.output.slice(start);
    const [found, failure] = end.exec(received)!;
    return {
      output: received.slice(0, received.indexOf(found)),
      failure: failure === '' ? undefined : failure,
    };
  }

  async close(): Promise<void> {
    this.#bash.endInput('exit\n');
    await this.#bash.exited;
  }
}
