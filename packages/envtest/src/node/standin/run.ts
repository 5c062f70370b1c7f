import { unwatchFile, watch, watchFile } from 'node:fs';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EXIT_PORT_NOT_ALLOWED } from '../contracts.ts';
import { readStandInConfig } from './config.ts';
import { StandInServer } from './server.ts';

/** While a pod terminates, its endpoints are still being withdrawn, and requests still arrive. */
const DRAIN_MS = 2_000;
/** Clients that never finish their request do not keep the pod. */
const FINISH_MS = 10_000;

/** The stand-in as a process: serves until SIGTERM, and ends with the code that says why. */
export async function runStandIn(file: string): Promise<void> {
  const config = readStandInConfig(file);
  if (config.completes) {
    console.log(`stand-in for ${config.image}: nothing to do, done.`);
    return;
  }
  // Before anything is said: whoever reads that it serves may tell it to stop.
  const told = terminated();
  const server = new StandInServer({
    config,
    log: (line) => process.stdout.write(line),
    onPortError: (error, port) => giveUp(explain(error, config.address, port)),
  });
  console.log(`stand-in for ${config.image} on ${config.address}, ${describePorts(config.ports)}`);
  const unwatch = followFile(file, () => reconfigure(server, file));
  // Without ports nothing else keeps the process alive.
  const alive = setInterval(() => {}, 2 ** 30);
  await told;
  unwatch();
  server.drain();
  if (server.ports.length > 0) await sleep(DRAIN_MS);
  await Promise.race([server.close(), sleep(FINISH_MS)]);
  clearInterval(alive);
  process.exit(0);
}

/** A file that is not there means that the pod is being cleaned up: what runs goes on until it is told to stop. */
function reconfigure(server: StandInServer, file: string): void {
  try {
    const config = readStandInConfig(file);
    server.configure(config);
    console.log(`stand-in now on ${describePorts(config.ports)}`);
  } catch (error) {
    console.error(`stand-in: can not read ${file}, going on as before: ${(error as Error).message}`);
  }
}

const describePorts = (ports: number[]): string =>
  ports.length === 0
    ? 'no port: the container declares none, and no Service selects the pod'
    : `port ${ports.join(', ')}`;

function giveUp({ sentence, code }: { sentence: string; code: number }): void {
  console.error(sentence);
  process.exit(code);
}

function explain(
  error: NodeJS.ErrnoException,
  address: string,
  port: number,
): { sentence: string; code: number } {
  switch (error.code) {
    case 'EACCES':
      return {
        sentence: `stand-in: not allowed to listen on port ${port}: an ordinary user may only take ports from 1024 on.`,
        code: EXIT_PORT_NOT_ALLOWED,
      };
    case 'EADDRINUSE':
      return { sentence: `stand-in: port ${port} on ${address} is in use by another program.`, code: 1 };
    default:
      return { sentence: `stand-in: can not listen on ${address}:${port}: ${error.message}`, code: 1 };
  }
}

/** Calls `changed` after the file was replaced. The folder is watched: a replaced file is another one. */
function followFile(file: string, changed: () => void): () => void {
  try {
    const watcher = watch(dirname(file), (_event, name) => {
      if (name === basename(file)) changed();
    });
    watcher.on('error', (error) => console.error(`stand-in: no longer follows ${file}: ${error.message}`));
    return () => watcher.close();
  } catch {
    // A user may have 128 watching processes (fs.inotify.max_user_instances); the others look now and then.
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
