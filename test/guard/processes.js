// Finds the processes of a test run in /proc. Process groups and parents are not sufficient: components start their
// children in sessions of their own, and the parents may have been killed. But all files of a run are in one directory.
// So a process belongs to the run if its environment (TMPDIR), its command line or a Unix socket that it holds contains
// this directory, or if a process of the run started it.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** All processes of the machine except zombies, which only wait for their parent. */
export function listProcesses() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)))
    .filter((found) => found !== undefined && found.state !== 'Z');
}

/** The state of one process; undefined when it has ended. `started` guards against a reused pid. */
export function statOf(pid) {
  const stat = read(`/proc/${pid}/stat`);
  if (stat === '') return undefined;
  // The name of the program is in parentheses and may contain spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    state: fields[0],
    parent: Number(fields[1]),
    session: Number(fields[3]),
    started: fields[19],
  };
}

export const isRunning = ({ pid, started }) => {
  const now = statOf(pid);
  return now !== undefined && now.started === started && now.state !== 'Z';
};

/** The processes of the run whose files are in `directory`, except those in `except`. */
export function processesOf(directory, except) {
  const all = listProcesses().filter(({ pid }) => !except.has(pid));
  const sockets = socketsIn(directory);
  const found = new Map();
  for (const one of all) if (mentions(one.pid, directory) || holds(one.pid, sockets)) found.set(one.pid, one);
  // Other processes have a parent in the run, or are in a session that a process of the run created.
  for (let size = -1; size !== found.size; ) {
    size = found.size;
    for (const one of all) if (found.has(one.parent) || found.has(one.session)) found.set(one.pid, one);
  }
  return [...found.values()];
}

export const commandOf = (pid) => read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();

export const environmentOf = (pid) => read(`/proc/${pid}/environ`).split('\0');

/** The pid of the runner, and those of npm and the shells between, if npm started it. */
export function runnersOf(pid) {
  const runners = [];
  for (let next = statOf(pid); next !== undefined && next.pid > 1; next = statOf(next.parent)) {
    runners.push(next);
    // npm sets the variable for what it starts. So the first process without it is npm.
    if (!environmentOf(next.pid).some((each) => each.startsWith('npm_lifecycle_event='))) break;
  }
  return runners;
}

function mentions(pid, directory) {
  return (
    isInside(read(`/proc/${pid}/environ`), directory) || isInside(read(`/proc/${pid}/cmdline`), directory)
  );
}

/** Whether the text contains the directory, and not only another one whose name starts with the same characters. */
function isInside(text, directory) {
  const at = text.indexOf(directory);
  return at >= 0 && /^(?![\w.-])/.test(text.slice(at + directory.length));
}

/** The inodes of Unix sockets in the directory. Workers of nginx have nothing else after their master was killed. */
function socketsIn(directory) {
  const lines = read('/proc/net/unix').split('\n');
  const inodes = lines
    .map((line) => line.split(/\s+/))
    .filter((fields) => isInside(fields[7] ?? '', directory));
  return new Set(inodes.map((fields) => `socket:[${fields[6]}]`));
}

function holds(pid, sockets) {
  if (sockets.size === 0) return false;
  try {
    return readdirSync(`/proc/${pid}/fd`).some((name) => sockets.has(link(`/proc/${pid}/fd/${name}`)));
  } catch {
    return false; // The process has ended, or belongs to another user.
  }
}

/** Files of /proc disappear with their process, and those of other users are not readable. Both are empty here. */
function read(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function link(path) {
  try {
    return readlinkSync(path);
  } catch {
    return '';
  }
}
