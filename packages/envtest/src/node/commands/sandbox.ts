/**
 * Runs a command with a file system of its own, without root: in a user namespace and a mount namespace that
 * `unshare` creates. The set-up is a constant shell script; everything that depends on the pod reaches it as arguments.
 *
 * All programs in the chain replace each other (exec), so the process that is started is the process of the container:
 * its exit code, its signals and its process group are those of the command.
 */
import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { machineFiles } from './machine-files.ts';
import { type Bind, type MountPlan, planMounts } from './mount-plan.ts';
import { CHECK_PROGRAM } from './program.ts';
import { removeTree } from './remove-tree.ts';

/** The exit code of a container whose file system could not be set up, as in other container runtimes. */
const EXIT_NOT_SET_UP = 125;

/** The tools that the set-up uses. Not all are in the PATH of users. */
const TOOLS = ['unshare', 'mount', 'umount', 'pivot_root'] as const;
const TOOL_DIRECTORIES = ['/usr/sbin', '/usr/bin', '/sbin', '/bin'];

type Tools = Record<(typeof TOOLS)[number], string>;

/**
 * Arguments: the tools, the root, the user, the group, the working directory, the binds, `--`, the command. The root
 * must be a mount for pivot_root; it is unbindable, so that binding a directory above it does not copy it.
 *
 * A mount of the machine can vanish at any time, so only a mount that still exists must become read-only.
 *
 * The second user namespace gives the process its own user id again, and takes away the capabilities with which it
 * could undo the mounts.
 */
const SET_UP = `${CHECK_PROGRAM}
unshare=$1 mount=$2 umount=$3 pivot_root=$4 root=$5 user=$6 group=$7 directory=$8
shift 8
try() {
  "$@" && return
  echo "tidegate: cannot set up the file system of the container: the command failed: $*" >&2
  exit ${EXIT_NOT_SET_UP}
}
try "$mount" --bind "$root" "$root"
try "$mount" --make-unbindable "$root"
while [ "$1" != -- ]; do
  if [ "$2" != none ]; then
    try "$mount" -o "$1" "$2" "$root$3"
  elif ! "$mount" -o "$1" "$2" "$root$3" 2>/dev/null && grep -qF " $root$3 " /proc/self/mountinfo; then
    try false "$3" cannot be made read-only
  fi
  shift 3
done
shift
try cd "$root"
try "$pivot_root" . .
try "$umount" -l .
try cd "$directory"
check_program "$@"
exec "$unshare" --user --map-user="$user" --map-group="$group" -- "$@"
`;

/** What to run, and what it sees. */
export interface Sandboxed {
  /** The root directory of the container, in the directory of the pod. */
  root: string;
  binds: Bind[];
  directory: string;
  command: string[];
}

/** Creates command lines that run in a sandbox. */
export class Sandbox {
  readonly #tools: Tools;

  private constructor(tools: Tools) {
    this.#tools = tools;
  }

  /** Or the reason why this machine does not allow it. Runs a real command, because several settings can forbid it. */
  static async open(path: string): Promise<Sandbox | { unavailable: string }> {
    const tools = findTools(path);
    if (typeof tools === 'string') return { unavailable: `the program ${tools} is not installed` };
    const sandbox = new Sandbox(tools);
    const root = await mkdtemp(join(tmpdir(), 'tidegate-sandbox-'));
    try {
      const { entries, binds } = planMounts(machineFiles, [], []);
      await createEntries(root, entries);
      const [program = '', ...args] = sandbox.wrap({ root, binds, directory: '/', command: ['true'] });
      await promisify(execFile)(program, args, { env: { PATH: path } });
      return sandbox;
    } catch (error) {
      const { stderr = '', message } = error as Error & { stderr?: string };
      return { unavailable: stderr.trim() === '' ? message : stderr.trim() };
    } finally {
      await removeTree(root);
    }
  }

  /** The command line that runs `command` with this file system. The entries of the plan must exist in the root. */
  wrap({ root, binds, directory, command }: Sandboxed): string[] {
    const { unshare, mount, umount, pivot_root: pivotRoot } = this.#tools;
    const ids = [process.getuid!(), process.getgid!()].map(String);
    return [
      unshare,
      ...['--user', '--map-root-user', '--mount', '--propagation', 'private', '--'],
      ...['/bin/sh', '-c', SET_UP, 'tidegate', unshare, mount, umount, pivotRoot, root, ...ids, directory],
      ...binds.flatMap(({ options, source, path }) => [options, source, path]),
      '--',
      ...command,
    ];
  }
}

/** Creates the directories, files and links of a plan in an empty root. */
export async function createEntries(root: string, entries: MountPlan['entries']): Promise<void> {
  for (const entry of entries) {
    const path = join(root, entry.path);
    await mkdir(dirname(path), { recursive: true });
    if ('link' in entry) await symlink(entry.link, path);
    else if (entry.isDirectory) await mkdir(path, { recursive: true });
    else await writeFile(path, '', { flag: 'a' });
  }
}

/** The paths of all tools, or the name of the first one that is missing. */
function findTools(path: string): Tools | string {
  const found: Partial<Tools> = {};
  for (const tool of TOOLS) {
    const candidates = [...path.split(':'), ...TOOL_DIRECTORIES].map((directory) => join(directory, tool));
    const usable = candidates.find(isExecutable);
    if (usable === undefined) return tool;
    found[tool] = usable;
  }
  return found as Tools;
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
