/**
 * The file system of a container that runs its own command: the machine's files, read-only, with the volumes of the
 * container at their paths. Pure: computed from the mounts and a view of the machine's directories.
 *
 * A volume at /etc/config needs a directory that does not exist on the machine, and nothing may be created there. So
 * the container gets a root directory of its own, in the directory of its pod. The directories of the machine's root
 * are bound into it. A directory on the way to a mount is *opened*: it becomes a directory of the container, and its
 * entries become links into /.machine, where the machine's directory is bound. Links instead of binds, because /etc
 * has hundreds of entries.
 */
import { posix } from 'node:path';

/** What the plan needs to know about the machine. */
export interface MachineFiles {
  /** A directory's entries, with the targets of links; empty when it does not exist or may not be read. */
  list(directory: string): { name: string; isDirectory: boolean; target?: string }[];
  /** The path without symbolic links; parts that do not exist stay as they are. */
  resolve(path: string): string;
  /** The mount points of the machine with the flags that a new mount of them must keep. */
  mounts(): { path: string; flags: string[] }[];
}

/** A directory or file of the pod that the container sees at `path`. */
export interface Mount {
  source: string;
  path: string;
  isDirectory: boolean;
  readOnly: boolean;
}

/** One mount in the namespace of the container; `path` is relative to its root. */
export interface Bind {
  source: string;
  path: string;
  options: string;
}

/** What the root of a container consists of. */
export interface MountPlan {
  /** Created in the root, in this order. */
  entries: ({ path: string; link: string } | { path: string; isDirectory: boolean })[];
  binds: Bind[];
}

const MACHINE = '/.machine';
/** The entries of /dev that every container has, as in other container runtimes. */
const DEVICES = ['null', 'zero', 'full', 'random', 'urandom', 'tty', 'ptmx', 'pts'];
const DEVICE_LINKS = ['fd', 'stdin', 'stdout', 'stderr'];
/** Programs write here. Each container has its own. */
const PRIVATE = ['/tmp', '/var/tmp', '/dev/shm'];
/** File systems of the kernel. They enforce permissions by themselves, and programs must write to them. */
const KERNEL = ['/proc', '/sys', '/dev'];

/** `directories` must exist, too: for example the working directory. */
export function planMounts(machine: MachineFiles, mounts: Mount[], directories: string[]): MountPlan {
  const resolved = mounts
    .map((mount) => ({ ...mount, path: machine.resolve(mount.path) }))
    .toSorted((a, b) => a.path.length - b.path.length);
  const targets = new Set(resolved.map(({ path }) => path));
  const isInVolume = (path: string): boolean => [path, ...above(path)].some((one) => targets.has(one));
  const missing = directories.map((path) => machine.resolve(path)).filter((path) => !exists(machine, path));
  const own = [...PRIVATE, ...missing].filter((path) => !isInVolume(path));
  const outside = resolved.filter(({ path }) => !above(path).some((one) => targets.has(one)));
  const wanted = [...own, ...outside.map(({ path }) => path)];
  const opened = [...new Set(['/', '/dev', ...wanted.flatMap(above)])].toSorted(shorterFirst);
  const replaced = new Set([...opened, ...wanted]);
  return {
    entries: [
      ...opened.flatMap((directory) => openedEntries(machine, directory, replaced)),
      ...own.map((path) => ({ path, isDirectory: true })),
      ...outside.map(({ path, isDirectory }) => ({ path, isDirectory })),
    ],
    binds: [
      ...rootBinds(machine, new Set(opened)),
      ...resolved.map(({ source, path, readOnly }) => ({
        source,
        path,
        options: readOnly ? 'rbind,ro' : 'rbind',
      })),
    ],
  };
}

const shorterFirst = (a: string, b: string): number => a.length - b.length;

/** All directories above a path, the root included and the path itself not. */
function above(path: string): string[] {
  const parent = posix.dirname(path);
  return parent === path ? [] : [...above(parent), parent];
}

function exists(machine: MachineFiles, path: string): boolean {
  if (path === '/') return true;
  return machine.list(posix.dirname(path)).some(({ name }) => name === posix.basename(path));
}

/** The contents of one opened directory. The directories of the root are bound, and are in `rootBinds`. */
function openedEntries(
  machine: MachineFiles,
  directory: string,
  replaced: ReadonlySet<string>,
): MountPlan['entries'] {
  const entries: MountPlan['entries'] = [{ path: directory, isDirectory: true }];
  if ([directory, ...above(directory)].some((one) => PRIVATE.includes(one))) return entries;
  for (const { name, isDirectory, target } of machine.list(directory)) {
    const path = posix.join(directory, name);
    if (replaced.has(path)) continue;
    if (directory === '/dev' && ![...DEVICES, ...DEVICE_LINKS].includes(name)) continue;
    if (target !== undefined) entries.push({ path, link: target });
    else if (directory !== '/') entries.push({ path, link: posix.join(MACHINE, path) });
    else if (isDirectory) entries.push({ path, isDirectory });
  }
  if (directory !== '/' && posix.dirname(directory) === '/') {
    entries.push({ path: posix.join(MACHINE, directory), isDirectory: true });
  }
  return entries;
}

function rootBinds(machine: MachineFiles, opened: ReadonlySet<string>): Bind[] {
  const mounts = machine.mounts();
  const directories = machine
    .list('/')
    .filter(({ isDirectory, target }) => isDirectory && target === undefined);
  return directories.flatMap(({ name }) => {
    const source = `/${name}`;
    if (PRIVATE.includes(source)) return [];
    const path = opened.has(source) ? posix.join(MACHINE, source) : source;
    if (KERNEL.includes(source)) return [{ source, path, options: 'rbind' }];
    const flags = mounts.find((mount) => mount.path === source)?.flags ?? rootFlags(mounts);
    const below = mounts.filter((mount) => mount.path.startsWith(`${source}/`));
    return [
      { source, path, options: ['rbind', 'ro', ...flags].join(',') },
      // A bind is read-only without the mounts below it.
      ...below.map((mount) => ({
        source: 'none',
        path: posix.join(path, posix.relative(source, mount.path)),
        options: ['remount', 'bind', 'ro', ...mount.flags].join(','),
      })),
    ];
  });
}

const rootFlags = (mounts: ReturnType<MachineFiles['mounts']>): string[] =>
  mounts.find(({ path }) => path === '/')?.flags ?? [];
