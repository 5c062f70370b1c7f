import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { makeDirectory } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';
import { defaultCertificate } from '../default-certificate.ts';
import { CapacityError, type DriverOptions, type Listening } from '../driver.ts';
import { type Change, lineOf } from './changes.ts';
import { CONTROL_SOCKET, type Dictionary, nginxConfig } from './config.ts';
import { Control, type NginxState } from './control.ts';
import { findNginx, type NginxBinary } from './find-nginx.ts';
import { luaDirectory } from './lua-files.ts';
import { Master } from './master.ts';
import { freePort } from './ports.ts';
import { endFormer, isNginx, makeRuntimeDirectory, removeRuntimeDirectory } from './runtime-directory.ts';
import { NginxStartError } from './start-error.ts';

const MIB = 1024 * 1024;
/** Reserved, not used: memory that nothing was written to costs nothing. */
const MEMORY: Readonly<Record<Dictionary, number>> = {
  hosts: 128 * MIB,
  upstreams: 64 * MIB,
  certificates: 128 * MIB,
};
const MOST_WORKERS = 8;
/** Small enough that the worker that reads it does not keep its clients waiting. */
const MESSAGE_CHARACTERS = 256 * 1024;
const START_POLL_MS = 10;
/** Somebody else may take a free port before nginx does. */
const MOST_STARTS = 5;

export interface NginxOptions extends DriverOptions {
  /** A file to write a line for each request to; `/dev/stdout` is the agent's own. Default: none is written. */
  accessLog?: string;
  /** Default: one for each core, up to eight. */
  workers?: number;
  /** In bytes, where the usual is not to be. */
  memory?: Partial<Record<Dictionary, number>>;
}

/** One nginx, from its start to its end. */
export class Nginx {
  readonly listening: Listening;
  readonly #directory: string;
  readonly #workers: number;
  readonly #runtime: string;
  readonly #master: Master;
  readonly #control: Control;
  /** Grows with each message, so that no key ever has the same version with another value. The first changes have 1. */
  #version = 1;

  /** Resolves when all workers are there. They go by the first changes from the first request on; without, they know nothing. */
  static async start(options: NginxOptions, log: Logger, first?: readonly Change[]): Promise<Nginx> {
    const found = await findNginx();
    if ('missing' in found) throw new Error(found.missing);
    makeDirectory(options.directory);
    await endFormer(options.directory);
    for (let attempt = 1; ; attempt++) {
      const listening = {
        http: options.httpPort || (await freePort(options.address)),
        https: options.httpsPort || (await freePort(options.address)),
      };
      const nginx = new Nginx(options, found.nginx, { listening, first, log });
      const wrong = await nginx.#ready();
      if (wrong === undefined) return nginx.#checked(first !== undefined);
      await nginx.stop();
      if (attempt === MOST_STARTS || !isTaken(wrong, options, listening)) {
        throw new NginxStartError(wrong);
      }
    }
  }

  private constructor(
    options: NginxOptions,
    binary: NginxBinary,
    { listening, first, log }: { listening: Listening; first?: readonly Change[]; log: Logger },
  ) {
    const { directory, address, className, defaults, memory, accessLog } = options;
    const workers = options.workers ?? Math.min(availableParallelism(), MOST_WORKERS);
    this.#directory = directory;
    this.#workers = workers;
    this.listening = listening;
    this.#runtime = makeRuntimeDirectory(directory);
    if (first !== undefined) writeFileSync(this.#first, first.map(lineOf).join(''), { mode: 0o600 });
    const config = nginxConfig({
      modules: binary.modules,
      lua: luaDirectory(),
      runtime: this.#runtime,
      defaultCertificate: defaultCertificate(directory).path,
      address,
      httpPort: listening.http,
      httpsPort: listening.https,
      workers,
      className,
      instance: randomBytes(8).toString('hex'),
      ...defaults,
      memory: { ...MEMORY, ...memory },
      accessLog,
      first: first && this.#first,
    });
    const path = join(this.#runtime, 'nginx.conf');
    writeFileSync(path, config, { mode: 0o600 });
    this.#control = new Control(join(this.#runtime, CONTROL_SOCKET));
    this.#master = new Master(binary.path, path, log);
  }

  get pid(): number | undefined {
    return this.#master.pid;
  }

  get ended(): Promise<string> {
    return this.#master.ended;
  }

  state(): Promise<NginxState> {
    return this.#control.state();
  }

  /** What its workers have counted, for `trafficMetrics`. */
  counts(): Promise<string> {
    return this.#control.metrics();
  }

  /** Resolves when all workers go by it. */
  async push(changes: readonly Change[]): Promise<NginxState> {
    const version = ++this.#version;
    let message = '';
    for (const change of changes) {
      const line = lineOf(change);
      if (message !== '' && message.length + line.length > MESSAGE_CHARACTERS) {
        await this.#control.change(message, version, false);
        message = '';
      }
      message += line;
    }
    return this.#control.change(message, version, true);
  }

  /** What it reads before it listens. */
  get #first(): string {
    return join(this.#runtime, 'first');
  }

  async #checked(hasFirst: boolean): Promise<this> {
    if (!hasFirst) return this;
    // Keys are in it.
    rmSync(this.#first);
    if ((await this.state()).generation > 0) return this;
    await this.stop();
    throw new CapacityError('nginx has no room for it');
  }

  /** No new connections; resolves when the last request has ended. */
  async quit(): Promise<void> {
    this.#master.quit();
    await this.ended;
  }

  async stop(): Promise<void> {
    await this.#master.stop();
    await this.#endOrphans();
    removeRuntimeDirectory(this.#runtime, this.#directory);
  }

  /** Workers outlive a master that was killed, with its ports. They finish what they have. */
  async #endOrphans(): Promise<void> {
    const workers = await this.state().then(
      (state) => state.workers,
      // Nobody answers: there are none.
      () => [],
    );
    for (const pid of workers) if (await isNginx('worker', pid)) process.kill(pid, 'SIGQUIT');
  }

  /** Undefined when it is; else what went wrong. */
  async #ready(): Promise<string | undefined> {
    let wrong: string | undefined;
    void this.ended.then((reason) => {
      wrong = reason;
    });
    while (wrong === undefined && !(await this.#hasAllWorkers())) {
      await new Promise((resolve) => setTimeout(resolve, START_POLL_MS));
    }
    return wrong;
  }

  async #hasAllWorkers(): Promise<boolean> {
    try {
      return (await this.state()).workers.length === this.#workers;
    } catch {
      // It does not listen yet.
      return false;
    }
  }
}

/** Whether it failed for a port that could as well be another one. */
const isTaken = (wrong: string, options: NginxOptions, listening: Listening): boolean =>
  wrong.startsWith('bind()') &&
  ((options.httpPort === 0 && wrong.includes(`:${listening.http} `)) ||
    (options.httpsPort === 0 && wrong.includes(`:${listening.https} `)));
