import { lstat, mkdir, readlink, rmdir, symlink, unlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Container, VolumeError } from '../contracts.ts';

/** Makes volumes visible to a container: `root/<mountPath>` is a link to the volume, or to a subPath in it. */
export async function linkMounts(
  { volumeMounts = [] }: Container,
  root: string,
  volumeDirectory: (name: string) => string,
): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 });
  // Outer paths first: /a/b is then created inside the volume that is mounted at /a.
  const outerFirst = volumeMounts.toSorted((a, b) => a.mountPath.length - b.mountPath.length);
  for (const { name, mountPath, subPath = '', subPathExpr } of outerFirst) {
    if (subPathExpr !== undefined && subPathExpr !== '') {
      throw new VolumeError(
        `subPathExpr of the mount at ${mountPath} is not supported in this cluster; use subPath`,
      );
    }
    const target = join(volumeDirectory(name), checked(subPath, 'subPath'));
    if (subPath !== '' && (await kindOf(target)) === 'nothing')
      await mkdir(target, { recursive: true, mode: 0o700 });
    const inside = checked(mountPath, 'mountPath');
    if (inside === '') throw new VolumeError('a volume cannot be mounted at /; choose a subdirectory');
    await link(target, join(root, inside), mountPath);
  }
}

/** The relative path without `.` segments. It must not contain `..`. */
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
        throw new VolumeError(`cannot mount a volume at ${mountPath}: the directory is not empty`, {
          cause,
        });
      });
      break;
    case 'file':
      throw new VolumeError(`cannot mount a volume at ${mountPath}: a file with this name exists`);
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
