/**
 * Helpers for tests with files: a temporary directory, a logger that records its messages, a disk that fails on
 * demand, and a real file system that can be filled.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type OpenOutput, openFile } from './output-file.ts';
import { mountSmallDisk, type SmallDisk } from './small-disk.ts';

export { mountSmallDisk, type SmallDisk } from './small-disk.ts';

/** A directory that is removed at the end of the test. */
export async function temporaryDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tidegate-disk-'));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  return directory;
}

/** A file system of 4 MiB by default, which is unmounted at the end of the test. */
export async function smallDisk(bytes = 4 << 20): Promise<SmallDisk> {
  const disk = await mountSmallDisk(bytes);
  onTestFinished(() => disk.close());
  return disk;
}

/** A logger that records its messages. */
export function recordingLogger() {
  const messages: string[] = [];
  const record = (_details: object, message: string) => void messages.push(message);
  return { messages, warn: record, error: record };
}

type Operation = 'open' | 'write' | 'datasync' | 'truncate';

/** A real disk that fails on demand; a failed write leaves its first half on disk. */
export function failingDisk() {
  const refused = new Map<Operation, string>();
  const disk = { refused, openOutput, busy: Promise.resolve() };
  const check = (operation: Operation, path: string) => {
    const code = refused.get(operation);
    if (code !== undefined) throw Object.assign(new Error(`${code}: ${operation} ${path}`), { code });
  };
  async function openOutput(path: string): ReturnType<OpenOutput> {
    check('open', path);
    const file = await openFile(path);
    return {
      async write(data, position) {
        if (refused.has('write')) await file.write(data.subarray(0, data.length >> 1), position);
        check('write', path);
        await file.write(data, position);
      },
      async datasync() {
        await disk.busy;
        check('datasync', path);
        await file.datasync();
      },
      async truncate(length) {
        check('truncate', path);
        await file.truncate(length);
      },
      close: () => file.close(),
    };
  }
  return disk;
}
