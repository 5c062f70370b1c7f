import { readdir, readlink, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { TestProcess } from '../../../test/support/process.ts';
import { lockDirectory } from './lock.ts';
import { smallDisk, temporaryDirectory } from './testing.ts';

const inUse = (directory: string, pid: number) =>
  `the data directory ${directory} is in use by process ${pid}; stop it, or use another directory`;

async function deadPid(): Promise<number> {
  const child = new TestProcess(['true']);
  await child.exited;
  return child.pid;
}

describe('the lock of a data directory', () => {
  it('is held by one process, and free after its release', async () => {
    const directory = await temporaryDirectory();
    const unlock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toMatchObject({
      code: 'locked',
      message: inUse(directory, process.pid),
    });
    await unlock();
    await (await lockDirectory(directory))();
    expect(await readdir(directory)).toEqual(['lock-2']);
  });

  it('of a dead process is taken over', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'lock-7'), JSON.stringify({ pid: await deadPid(), started: 'boot/1' }));
    await (await lockDirectory(directory))();
    expect(await readdir(directory)).toEqual(['lock-8']);
  });

  it('that a power failure left empty is taken over', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'lock-1'), Buffer.alloc(60));
    await (await lockDirectory(directory))();
  });

  it('of a running process is respected, also that of another user', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'lock-1'), JSON.stringify({ pid: 1, started: '' }));
    await expect(lockDirectory(directory)).rejects.toThrow(inUse(directory, 1));
  });

  it('of a process whose pid was reused is taken over', async () => {
    const directory = await temporaryDirectory();
    const unlock = await lockDirectory(directory);
    const lock = join(directory, 'lock-1');
    const owner = await readlink(lock);
    expect(owner).toMatch(new RegExp(`^${process.pid}:[0-9a-f-]{36}/\\d+$`));
    await unlock();
    await rm(lock);
    await symlink(owner.replace(/\d+$/, '1'), lock);
    await (await lockDirectory(directory))();
    await rm(join(directory, 'lock-2'));
    await symlink(owner, lock);
    await expect(lockDirectory(directory)).rejects.toThrow(inUse(directory, process.pid));
  });

  it('needs no space', async () => {
    const { directory, fill } = await smallDisk();
    fill();
    const unlock = await lockDirectory(directory);
    await expect(lockDirectory(directory)).rejects.toThrow(inUse(directory, process.pid));
    await unlock();
    await (await lockDirectory(directory))();
    // With more, file systems such as ext4 store the target of the link in a block of its own.
    expect((await readlink(join(directory, 'lock-2'))).length).toBeLessThan(60);
  });

  it('has one winner among many concurrent attempts', async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, 'lock-3'), JSON.stringify({ pid: await deadPid(), started: '' }));
    for (let round = 0; round < 20; round += 1) {
      const attempts = await Promise.allSettled(Array.from({ length: 8 }, () => lockDirectory(directory)));
      const won = attempts.flatMap((attempt) => (attempt.status === 'fulfilled' ? [attempt.value] : []));
      expect(won).toHaveLength(1);
      for (const attempt of attempts) {
        if (attempt.status === 'rejected') expect(attempt.reason).toMatchObject({ code: 'locked' });
      }
      await won[0]!();
    }
  });
});
