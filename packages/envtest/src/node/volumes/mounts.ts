import { lstat, mkdir, readlink, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Container, VolumeError } from '../contracts.ts';

/** Lets a container see its volumes: `root/<mountPath>` is a link to the volume, or to a place inside it. */
export async function linkMounts(
  { volumeMounts = [] }: Container,
  root: string,
  volumeDirectory: (name: string) => string,
): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  // The outer before the inner: /a/b is then made inside the volume that is mounted at /a.
  const outerFirst = volumeMounts.toSorted((a, b) => a.mountPath.length - b.mountPath.length);
  for (const { name, mountPath, subPath = '', subPathExpr } of outerFirst) {
    if (subPathExpr !== undefined && subPathExpr !== '') {
      throw new VolumeError(`subPathExpr of the mount at ${mountPath} is not supported here; write subPath`);
    }
    const target = join(volumeDirectory(name), checked(subPath, 'subPath'));
    if (subPath !== '' && (await kindOf(target)) === 'nothing')
      await mkdir(target, { recursive: true, mode: 0o700 });
    const inside = checked(mountPath, 'mountPath');
    if (inside === '') throw new VolumeError('a volume can not be mounted at / here; name a folder');
    await link(target, join(root, inside), mountPath);
  }
}

/** The path relative to where it begins, without dots. It must not lead out again. */
function checked(path: string, field: string): string {
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) {
    throw new VolumeError(`${field} ${JSON.stringify(path)} must not contain '..'`);
  }
  return segments.join('/');
}

async function link(target: string, path: string, mountPath: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  switch (await kindOf(path)) {
    case 'link':
      if ((await readlink(path)) === target) return;
      await unlink(path);
      break;
    case 'directory':
      await rmdir(path).catch((cause: unknown) => {
        throw new VolumeError(`there are files already where a volume is to be mounted, ${mountPath}`, {
          cause,
        });
      });
      break;
    case 'file':
      throw new VolumeError(`there is a file already where a volume is to be mounted, ${mountPath}`);
  }
  await symlink(target, path);
}

async function kindOf(path: string): Promise<'nothing' | 'link' | 'directory' | 'file'> {
  try {
    const stats = await lstat(path);
    return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'directory' : 'file';
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'nothing';
    throw error;
  }
}
