import { mkdirSync, unwatchFile, watch, watchFile, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT_PORT_NOT_ALLOWED } from '../contracts.ts';
import { readStandInConfig } from './config.ts';
import { StandInServer } from './server.ts';

/** After SIGTERM, requests still arrive until the pod's endpoints are removed everywhere. */
const DRAIN_MS = 2_000;
/** A limit for clients that never finish their request. */
const FINISH_MS = 10_000;

/** Runs the stand-in as a process: serves until SIGTERM. The exit code reports the reason of a failure to the agent. */
export async function runStandIn(file: string): Promise<void> {
  const config = readStandInConfig(file);
  if (config.completes) {
    console.log(`stand-in for ${config.image}: completed.`);
    return;
  }
  // Before anything is printed, because a reader of the output may send SIGTERM immediately.
  const sigterm = terminated();
  const server = new StandInServer({
    config,
    log: (line) => process.stdout.write(line),
    onPortError: (error, port) => giveUp(explain(error, config.address, port)),
  });
  console.log(`stand-in for ${config.image} on ${config.address}, ${describePorts(config.ports)}`);
  const unwatch = followFile(file, () => reconfigure(server, file));
  // Without ports, nothing else keeps the process alive.
  const alive = setInterval(() => {}, 2 ** 30);
  await sigterm;
  unwatch();
  server.drain();
  if (server.ports.length > 0) {
    console.log(`stand-in stops, and still serves requests for ${DRAIN_MS / 1000} s`);
    await sleep(DRAIN_MS);
  }
  await Promise.race([server.close(), sleep(FINISH_MS)]);
  clearInterval(alive);
  process.exit(0);
}

/** A missing file means that the pod is being removed; the stand-in continues until SIGTERM. */
function reconfigure(server: StandInServer, file: string): void {
  try {
    const config = readStandInConfig(file);
    server.configure(config);
    console.log(`stand-in now on ${describePorts(config.ports)}`);
  } catch (error) {
    console.error(
      `stand-in: cannot read ${file}, keeping the previous configuration: ${(error as Error).message}`,
    );
  }
}

const describePorts = (ports: number[]): string =>
  ports.length === 0
    ? 'no port: the container declares none, and no Service selects the pod'
    : `port ${ports.join(', ')}`;

/** Also leaves the reason as the termination message, which is part of the status of the pod. */
function giveUp({ sentence, code }: { sentence: string; code: number }): void {
  console.error(sentence);
  const root = process.env.CONTAINER_ROOT;
  if (root !== undefined) leaveMessage(join(root, 'dev/termination-log'), sentence);
  process.exit(code);
}

function leaveMessage(file: string, sentence: string): void {
  try {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, sentence);
  } catch (error) {
    console.error(`stand-in: cannot write ${file}: ${(error as Error).message}`);
  }
}

function explain(
  error: NodeJS.ErrnoException,
  address: string,
  port: number,
): { sentence: string; code: number } {
  switch (error.code) {
    case 'EACCES':
      return {
        sentence: `stand-in: not allowed to listen on port ${port}: an unprivileged user may only use ports from 1024 on.`,
        code: EXIT_PORT_NOT_ALLOWED,
      };
    case 'EADDRINUSE':
      return {
        sentence: `stand-in: port ${port} on ${address} is in use by another program of this machine, which possibly listens on all addresses; stop it, or use another port in the pod.`,
        code: 1,
      };
    default:
      return { sentence: `stand-in: cannot listen on ${address}:${port}: ${error.message}`, code: 1 };
  }
}

/** Calls `changed` after the file was replaced. Watches the directory, because a replaced file is a new inode. */
function followFile(file: string, changed: () => void): () => void {
  try {
    const watcher = watch(dirname(file), (_event, name) => {
      if (name === basename(file)) changed();
    });
    watcher.on('error', (error) => console.error(`stand-in: no longer watching ${file}: ${error.message}`));
    return () => watcher.close();
  } catch {
    // The limit of watchers of this user (fs.inotify.max_user_instances) is reached; poll instead.
    watchFile(file, { interval: 500 }, changed);
    return () => unwatchFile(file);
  }
}

function terminated(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', resolve);
    process.once('SIGINT', resolve);
  });
}
