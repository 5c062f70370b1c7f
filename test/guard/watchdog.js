// Ends a test run: kills its processes and removes its files, network namespaces, control groups and mounts. It runs until
// its standard input ends, which the kernel closes when the runner exits in any way, also after SIGKILL. It has a session of
// its own, so that Ctrl-C in the terminal does not reach it.
//
// Arguments: the directory of the run, and the pid of the runner. A line on standard input means that the tests have
// ended: the watchdog then waits for the last processes, kills the others, and prints them, because a test left them.
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync, rmdirSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { commandOf, isRunning, processesOf, runnersOf } from './processes.js';

const POLL_MS = 500;
/** Processes that are ending by themselves get this time on a busy machine. Only leaks wait for the whole time. */
const GRACE_MS = Number(process.env.GUARD_GRACE_MS ?? 60_000);
const KILL_MS = 60_000;

const [directory, runner] = process.argv.slice(2);
const runners = runnersOf(Number(runner));
const except = new Set([process.pid, ...runners.map(({ pid }) => pid)]);
const membersOf = () => processesOf(directory, except);

let isEnding = false;
process.stdin.on('data', () => end(async () => report(await remaining())));
process.stdin.on('end', () => end(killAll));
process.stdin.on('error', () => end(killAll));
// npm does not forward SIGKILL, so its end is detected by polling. Then the runner must end too.
const poll = setInterval(() => {
  if (!runners.every(isRunning)) end(killAll);
}, POLL_MS);

async function end(finish) {
  if (isEnding) return;
  isEnding = true;
  clearInterval(poll);
  try {
    await finish();
    removeNamespaces();
    await removeControlGroups();
    removeRuntimeDirectories();
    removeNotedDirectories();
    unmountAll();
    rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  } catch (error) {
    console.error(`the clean-up after the tests failed in ${directory}: ${error.stack}`);
    process.exitCode = 1;
  }
  process.stdin.destroy();
}

/** Waits until all processes have ended; returns those that have not, after they were killed. */
async function remaining() {
  const deadline = performance.now() + GRACE_MS;
  let left = membersOf();
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(50);
    left = membersOf();
  }
  const described = left.map(({ pid, parent }) => ({ pid, parent, command: commandOf(pid) }));
  await killMembers();
  return described;
}

async function killAll() {
  for (const one of runners) {
    // A shell or npm above the runner exits when the runner has ended.
    if (one.pid === Number(runner) && isRunning(one)) kill(one.pid);
  }
  await killMembers();
}

/** A process may start another one between the search and the kill. So search until nothing is found. */
async function killMembers() {
  const deadline = performance.now() + KILL_MS;
  for (let left = membersOf(); left.length > 0; left = membersOf()) {
    if (performance.now() > deadline) {
      const list = left.map(({ pid }) => `${pid} ${commandOf(pid)}`).join('\n');
      throw new Error(`these processes do not end after SIGKILL:\n${list}`);
    }
    for (const { pid } of left) kill(pid);
    await sleep(20);
  }
}

function kill(pid) {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
}

function report(left) {
  process.stdout.write(JSON.stringify(left));
}

/** nginx has its sockets outside, because their paths must be short. A link in the directory of its agent leads to them. */
function removeRuntimeDirectories() {
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (entry.name !== 'nginx.runtime' || !entry.isSymbolicLink()) continue;
    const runtime = readlinkSync(join(entry.parentPath, entry.name));
    // In a container, the link leads into the file system of the container, and the directory does not exist here.
    if (basename(runtime).startsWith('tidegate-nginx-')) rmSync(runtime, { recursive: true, force: true });
  }
}

/** Vitest itself removes its temporary directory after a regular end only. */
function removeNotedDirectories() {
  const notes = join(directory, 'directories');
  for (const name of namesIn(notes)) {
    rmSync(readFileSync(join(notes, name), 'utf8'), { recursive: true, force: true });
  }
}

/** The tests that create network namespaces leave a file with the name of each. */
function removeNamespaces() {
  const names = namesIn(join(directory, 'network-namespaces'));
  for (const name of names.filter((each) => namesIn('/run/netns').includes(each))) {
    execFileSync('ip', ['netns', 'delete', name]);
  }
}

/** The tests that create control groups leave a file with the name of each. Dead processes leave them a moment later. */
async function removeControlGroups() {
  const root = '/sys/fs/cgroup';
  const names = namesIn(join(directory, 'cgroups'));
  const folders = names.flatMap((name) =>
    [root, ...namesIn(root).map((each) => join(root, each))].map((hierarchy) => join(hierarchy, name)),
  );
  for (const folder of folders.filter((each) => existsSync(each))) {
    for (const deadline = performance.now() + KILL_MS; existsSync(folder); await sleep(50)) {
      try {
        removeGroup(folder);
      } catch (error) {
        if (error.code !== 'EBUSY' || performance.now() > deadline) throw error;
      }
    }
  }
}

function removeGroup(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeGroup(join(folder, entry.name));
  rmdirSync(folder);
}

function namesIn(folder) {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (error.code === 'ENOENT') return [];
    throw error;
  }
}

/** Unmounts file systems in the directory, the innermost first. Their files would otherwise be deleted one by one. */
function unmountAll() {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => point.startsWith(`${directory}/`));
  for (const point of points.reverse()) execFileSync('umount', ['--lazy', point]);
}
