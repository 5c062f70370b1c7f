/** The subset of a terminal or file that progress is written to. */
export interface Output {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
}

const FRAMES = ['|', '/', '-', '\\'];
const FRAME_MS = 120;
const CLEAR_LINE = '\r\u001b[K';

/**
 * The progress of a command that takes a while. On a terminal, steps replace each other in one line that moves, and
 * notes stay above it. Elsewhere, for example in a file or in the log of a CI system, both are plain lines.
 */
export class Progress {
  readonly #output: Output;
  readonly #moves: boolean;
  #timer: NodeJS.Timeout | undefined;
  #step = '';
  #frame = 0;

  constructor(output: Output, env: NodeJS.ProcessEnv = process.env) {
    this.#output = output;
    this.#moves = output.isTTY === true && env.TERM !== 'dumb';
  }

  /** What is done now. */
  readonly step = (line: string): void => {
    if (!this.#moves) {
      this.#print(line);
      return;
    }
    this.#step = line;
    this.#draw();
    this.#timer ??= setInterval(() => this.#draw(), FRAME_MS).unref();
  };

  /** Something that the user should know, also after the command is done. */
  readonly note = (line: string): void => {
    this.#clear();
    this.#print(line);
    if (this.#timer !== undefined) this.#draw();
  };

  /** Removes the moving line; the next step starts another one. */
  end(): void {
    clearInterval(this.#timer);
    this.#clear();
    this.#timer = undefined;
  }

  #print(line: string): void {
    this.#output.write(`${elapsed()}  ${line}\n`);
  }

  #draw(): void {
    this.#frame = (this.#frame + 1) % FRAMES.length;
    const line = `${FRAMES[this.#frame]} ${elapsed()}  ${this.#step}`;
    // A line that wraps could not be cleared. A terminal of unknown size has no columns, or 0.
    this.#output.write(`${CLEAR_LINE}${line.slice(0, (this.#output.columns || 80) - 1)}`);
  }

  #clear(): void {
    if (this.#timer !== undefined) this.#output.write(CLEAR_LINE);
  }
}

/** Seconds since this process started, which is what the user waits for. */
export const seconds = (): string => (performance.now() / 1000).toFixed(1);

const elapsed = (): string => `${seconds()} s`.padStart(8);
