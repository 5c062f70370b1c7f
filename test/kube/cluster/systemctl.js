#!/usr/bin/env node
// Replaces systemctl on nodes that have no systemd: it really starts and stops the ExecStart of a unit, with its
// environment, and starts it again if it ends. Sandboxing options of the unit are ignored.
import { spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';

const UNITS = '/etc/systemd/system';
const ENABLED = `${UNITS}/multi-user.target.wants`;
const RUNNING = '/run/units';
const RESTART_MS = 1000;
const STOP_MS = 90_000;

const [command, ...args] = process.argv.slice(2);
const units = args.filter((each) => !each.startsWith('--')).map((name) => name.replace(/\.service$/, ''));
const pidFile = (unit) => `${RUNNING}/${unit}.pid`;

function read(unit) {
  const file = `${UNITS}/${unit}.service`;
  if (!existsSync(file)) {
    console.error(`Failed to ${command} ${unit}.service: Unit ${unit}.service not found.`);
    process.exit(5);
  }
  return readFileSync(file, 'utf8');
}

const settings = (text, name) =>
  [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) =>
    value.replaceAll('%H', hostname()),
  );

function environmentOf(text) {
  const lines = settings(text, 'Environment');
  for (const file of settings(text, 'EnvironmentFile')) {
    const path = file.replace(/^-/, '');
    if (existsSync(path)) lines.push(...readFileSync(path, 'utf8').split('\n'));
    else if (!file.startsWith('-')) throw new Error(`${path} does not exist`);
  }
  const pairs = lines.filter((line) => /^[A-Z_]+=/.test(line));
  return Object.fromEntries(
    pairs.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  );
}

/** As systemd does: ${NAME} is a part of a word, $NAME is replaced by zero or more words. */
const wordsOf = (line, environment) =>
  line.split(/\s+/).flatMap((word) => {
    const [, name] = /^\$([A-Z_]+)$/.exec(word) ?? [];
    if (name !== undefined) return (environment[name] ?? '').split(/\s+/).filter(Boolean);
    return [word.replace(/\$\{([A-Z_]+)\}/g, (_, each) => environment[each] ?? '')];
  });

/** Runs the program of a unit until this process gets SIGTERM. */
async function supervise(unit) {
  let child;
  let stopped = false;
  process.on('SIGTERM', () => {
    stopped = true;
    child?.kill('SIGTERM');
  });
  while (!stopped) {
    const text = read(unit);
    const environment = environmentOf(text);
    const [program, ...rest] = wordsOf(settings(text, 'ExecStart')[0], environment);
    const log = openSync(`/var/log/${unit}.log`, 'a');
    child = spawn(program, rest, {
      stdio: ['ignore', log, log],
      env: { PATH: process.env.PATH, ...environment },
    });
    closeSync(log);
    await new Promise((resolve) => child.once('close', resolve).once('error', resolve));
    if (!stopped) await sleep(RESTART_MS);
  }
  rmSync(pidFile(unit), { force: true });
}

const isAlive = (unit) => {
  if (!existsSync(pidFile(unit))) return false;
  try {
    process.kill(Number(readFileSync(pidFile(unit), 'utf8')), 0);
    return true;
  } catch {
    return false;
  }
};

function start(unit) {
  read(unit);
  if (isAlive(unit)) return;
  mkdirSync(RUNNING, { recursive: true });
  const child = spawn(process.execPath, [process.argv[1], 'supervise', unit], {
    stdio: 'ignore',
    detached: true,
  });
  writeFileSync(pidFile(unit), String(child.pid));
  child.unref();
}

async function stop(unit) {
  if (!isAlive(unit)) return;
  process.kill(Number(readFileSync(pidFile(unit), 'utf8')), 'SIGTERM');
  for (const end = Date.now() + STOP_MS; isAlive(unit); await sleep(50))
    if (Date.now() > end) throw new Error(`${unit}.service does not stop`);
  rmSync(pidFile(unit), { force: true });
}

for (const unit of units) {
  if (command === 'supervise') await supervise(unit);
  if (command === 'start') start(unit);
  if (command === 'stop') await stop(unit);
  if (command === 'restart') {
    await stop(unit);
    start(unit);
  }
  if (command === 'is-active' && !isAlive(unit)) process.exitCode = 3;
  if (command === 'enable') {
    read(unit);
    mkdirSync(ENABLED, { recursive: true });
    if (!existsSync(`${ENABLED}/${unit}.service`))
      symlinkSync(`${UNITS}/${unit}.service`, `${ENABLED}/${unit}.service`);
  }
  if (command === 'disable') {
    if (args.includes('--now')) await stop(unit);
    rmSync(`${ENABLED}/${unit}.service`, { force: true });
  }
}
