/** The pods on disk: `STATE/pods/<uid>/{pod.json,containers/<name>/{root,logs}}`. */
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isErrno } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';
import { removeTree } from '../commands/index.ts';
import type { ContainerPlace, PodPlace } from '../contracts.ts';
import type { PodRecord } from '../pods/record.ts';

export const podsDirectory = (stateDirectory: string): string => join(stateDirectory, 'pods');

/** Stores one JSON file per pod. */
export class Records {
  readonly #directory: string;
  readonly #log: Logger;

  constructor(stateDirectory: string, log: Logger) {
    this.#directory = podsDirectory(stateDirectory);
    this.#log = log;
  }

  get directory(): string {
    return this.#directory;
  }

  place(uid: string): PodPlace {
    const directory = join(this.#directory, uid);
    const container = (name: string): ContainerPlace => {
      const own = join(directory, 'containers', name);
      return {
        podDirectory: directory,
        directory: own,
        root: join(own, 'root'),
        logDirectory: join(own, 'logs'),
      };
    };
    return { directory, container };
  }

  async load(): Promise<PodRecord[]> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const records = await Promise.all((await readdir(this.#directory)).map((uid) => this.#read(uid)));
    return records.filter((record) => record !== undefined);
  }

  /** Writes atomically: with a truncated record, the next agent would lose a running container. */
  async save(record: PodRecord): Promise<void> {
    const file = join(this.#directory, record.uid, 'pod.json');
    await mkdir(join(this.#directory, record.uid), { recursive: true, mode: 0o700 });
    await writeFile(`${file}.tmp`, JSON.stringify(record), { mode: 0o600 });
    await rename(`${file}.tmp`, file);
  }

  async remove(uid: string): Promise<void> {
    await removeTree(join(this.#directory, uid));
  }

  /** A directory without a readable record belongs to no running pod, so it is removed. */
  async #read(uid: string): Promise<PodRecord | undefined> {
    try {
      return JSON.parse(await readFile(join(this.#directory, uid, 'pod.json'), 'utf8')) as PodRecord;
    } catch (error) {
      // Any other error is one of the disk, and the record may be readable later.
      if (!(error instanceof SyntaxError) && !isErrno(error, 'ENOENT') && !isErrno(error, 'ENOTDIR'))
        throw error;
      this.#log.warn(
        { err: error, uid },
        'removing the directory of a pod, because its record cannot be read',
      );
      await this.remove(uid);
      return undefined;
    }
  }
}
