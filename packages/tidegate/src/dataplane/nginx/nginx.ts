import { randomBytes } from 'node:crypto';
import { rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { makeDirectory } from '@tidegate/disk';
import type { Logger } from '@tidegate/kube';
import { defaultCertificate } from '../default-certificate.ts';
import { CapacityError, type DriverOptions, type Listening } from '../driver.ts';
import { newMark } from '../loops.ts';
import { type Change, lineOf } from './changes.ts';
import { CONTROL_SOCKET, type Dictionary, nginxConfig } from './config.ts';
import { Control, type NginxState } from './control.ts';
import { findNginx, type NginxBinary } from './find-nginx.ts';
import { luaDirectory } from './lua-files.ts';
import { Master } from './master.ts';
import { freePorts } from './ports.ts';
import type { Relays } from './relays.ts';
import {
  endFormer,
  isNginx,
  makeRelayDirectory,
  makeRuntimeDirectory,
  removeRuntimeDirectory,
} from './runtime-directory.ts';
import { NginxStartError } from './start-error.ts';

const MIB = 1024 * 1024;
/** Address space, in bytes: the kernel provides memory only for pages that are written. */
export const MEMORY: Readonly<Record<Dictionary, number>> = {
  hosts: 128 * MIB,
  upstreams: 64 * MIB,
  certificates: 128 * MIB,
  credentials: 32 * MIB,
};
/** Each worker caches decoded routes in its own memory. */
const MAX_WORKERS = 8;
/** Small enough that the worker that reads a message does not delay its clients. */
const MESSAGE_CHARACTERS = 256 * 1024;
const START_POLL_MS = 10;
/** Another program may take a free port before nginx binds it. */
const MAX_STARTS = 5;

export interface NginxOptions extends DriverOptions {
  /** The file for the access log, for example `/dev/stdout`. Default: no access log. */
  accessLog?: string;
  /** How many routers can share the table; see SharedTable. Default: none, the table is that of one router. */
  sections?: number;
  /** Default: one per core, up to eight. */
  workers?: number;
  /** Sizes of the shared dictionaries in bytes, where they differ from the default. */
  memory?: Partial<Record<Dictionary, number>>;
}

interface Start {
  readonly listening: Listening;
  readonly first: readonly Change[] | undefined;
  readonly log: Logger;
  readonly runtime: string;
  readonly relayDirectory: string;
}

/** One nginx, from start to exit. */
export class Nginx {
  readonly listening: Listening;
  readonly #directory: string;
  readonly #workers: number;
  readonly #runtime: string;
  readonly #master: Master;
  readonly #control: Control;
  /** Increases with each change, so that a version of a key never has two values. The initial table has version 1. */
  #version = 1;

  /**
   * Resolves when all workers run. They serve the initial table from the first request on; without it, all requests
   * get 503.
   */
  static async start(
    options: NginxOptions,
    { log, relays }: { log: Logger; relays: Relays },
    first?: readonly Change[],
  ): Promise<Nginx> {
    const found = await findNginx();
    if ('missing' in found) throw new Error(found.missing);
    makeDirectory(options.directory);
    await endFormer(options.directory);
    for (let attempt = 1; ; attempt++) {
      const [http = 0, https = 0] = await freePorts(options.address, 2);
      const listening = { http: options.httpPort || http, https: options.httpsPort || https };
      const runtime = makeRuntimeDirectory(options.directory);
      const relayDirectory = makeRelayDirectory(runtime);
      await relays.moveTo(relayDirectory);
      const nginx = new Nginx(options, found.nginx, { listening, first, log, runtime, relayDirectory });
      const wrong = await nginx.#ready();
      if (wrong === undefined) return nginx.#checked(first !== undefined);
      await nginx.stop();
      if (attempt === MAX_STARTS || !isTaken(wrong, options, listening)) {
        throw new NginxStartError(wrong);
      }
    }
  }

  private constructor(
    options: NginxOptions,
    binary: NginxBinary,
    { listening, first, log, ...paths }: Start,
  ) {
    const { directory, address, className, router = '', identity, defaults, memory, accessLog } = options;
    const workers = options.workers ?? Math.min(availableParallelism(), MAX_WORKERS);
    this.#directory = directory;
    this.#workers = workers;
    this.listening = listening;
    this.#runtime = paths.runtime;
    if (first !== undefined) writeFileSync(this.#initialTable, first.map(lineOf).join(''), { mode: 0o600 });
    const config = nginxConfig({
      modules: binary.modules,
      hasHttp2Directive: binary.hasHttp2Directive,
      lua: luaDirectory(),
      runtime: this.#runtime,
      defaultCertificate: defaultCertificate(directory).path,
      address,
      httpPort: listening.http,
      httpsPort: listening.https,
      proxyProtocol: options.proxyProtocol ?? false,
      sections: options.sections ?? 0,
      workers,
      className,
      router,
      identity,
      instance: randomBytes(8).toString('hex'),
      mark: newMark(),
      ...defaults,
      memory: { ...MEMORY, ...memory },
      accessLog,
      initialTable: first && this.#initialTable,
      relayDirectory: paths.relayDirectory,
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

  /** The counts of all workers, in the format that `trafficMetrics` reads. */
  counts(): Promise<string> {
    return this.#control.metrics();
  }

  /**
   * Resolves when all workers use the changes. A large change is sent in several messages, and only the last one commits
   * it by increasing the generation. A worker that decodes an entry for the first time can see a value before the commit;
   * the order of the changes (see `changesOf`) makes sure that it never sees a host without its upstreams.
   */
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

  /** The file that nginx reads before it listens. */
  get #initialTable(): string {
    return join(this.#runtime, 'initial-table');
  }

  /** Deletes the file with the initial table. Throws CapacityError if the table did not fit (generation 0). */
  async #checked(hasFirst: boolean): Promise<this> {
    if (!hasFirst) return this;
    // It contains private keys.
    rmSync(this.#initialTable);
    if ((await this.state()).generation > 0) return this;
    await this.stop();
    throw new CapacityError('the route table does not fit into the shared memory of nginx');
  }

  /** Closes the listeners; resolves after the last request. */
  async quit(): Promise<void> {
    this.#master.quit();
    await this.ended;
  }

  /** Closes all connections and removes the files of this nginx. */
  async stop(): Promise<void> {
    await this.#master.stop();
    await this.#endOrphans();
    removeRuntimeDirectory(this.#runtime, this.#directory);
  }

  /**
   * Workers outlive a master that was killed, and keep its ports. They are asked to exit after their last request.
   */
  async #endOrphans(): Promise<void> {
    const workers = await this.state().then(
      (state) => state.workers,
      // No worker answers: there are none.
      () => [],
    );
    for (const pid of workers) if (await isNginx('worker', pid)) process.kill(pid, 'SIGQUIT');
  }

  /** Resolves with undefined when nginx is ready, or with the reason why it exited. */
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
      // nginx does not listen yet.
      return false;
    }
  }
}

/** Whether the start failed because of a port that we chose ourselves, so that another one can be tried. */
const isTaken = (wrong: string, options: NginxOptions, listening: Listening): boolean =>
  wrong.startsWith('bind()') &&
  ((options.httpPort === 0 && wrong.includes(`:${listening.http} `)) ||
    (options.httpsPort === 0 && wrong.includes(`:${listening.https} `)));
