import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { Logger } from '@tidegate/kube';
import type { ImageRule, Images } from '../contracts.ts';
import { imagePattern } from './pattern.ts';
import { type ImageEntry, ImageTableError, parseImages } from './table.ts';

/** Where image rules come from. */
export interface ImageTableOptions {
  /** The user's table. It may not exist, and may be created, changed and removed at any time. */
  file?: string;
  /** The command that runs this program, for its own image. */
  program: string[];
  log: Logger;
}

const WATCH_MS = 1_000;

/** Maps images to what is run: the user's entries first, then the built-in ones, then the stand-in. */
export class ImageTable implements Images {
  readonly #options: ImageTableOptions;
  readonly #builtIn: ImageEntry[];
  #user: ImageEntry[] = [];

  /** Throws an ImageTableError when the user's table is invalid at the start. */
  constructor(options: ImageTableOptions) {
    this.#options = options;
    this.#builtIn = builtIn(options.program);
    const { file } = options;
    if (file === undefined) return;
    this.#user = readImages(file);
    watchFile(file, { interval: WATCH_MS, persistent: false }, () => this.#reload(file));
  }

  resolve(image: string): ImageRule {
    const entry = [...this.#user, ...this.#builtIn].find(({ matches }) => matches(image));
    return entry?.rule ?? { kind: 'stand-in' };
  }

  close(): void {
    if (this.#options.file !== undefined) unwatchFile(this.#options.file);
  }

  /** An invalid table keeps the previous one in use, because the user may be in the middle of editing. */
  #reload(file: string): void {
    try {
      this.#user = readImages(file);
      this.#options.log.info({ file, entries: this.#user.length }, 'image table read');
    } catch (error) {
      if (!(error instanceof ImageTableError)) throw error;
      this.#options.log.error({ file }, `${error.message}; the previous table stays in use`);
    }
  }
}

const builtIn = (program: string[]): ImageEntry[] =>
  ['tidegate', '*/tidegate'].map((pattern) => ({
    matches: imagePattern(pattern),
    rule: { kind: 'command', command: program, env: {} },
  }));

/** Empty when the file does not exist. Throws an ImageTableError when it is invalid. */
export function readImages(file: string): ImageEntry[] {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw new ImageTableError(`${file}: cannot be read: ${(error as Error).message}`, { cause: error });
  }
  return parseImages(text, file);
}
