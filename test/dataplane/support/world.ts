import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, silentLogger } from '@tidegate/kube';
import type { Driver, DriverOptions, Listening } from '../../../packages/tidegate/src/dataplane/driver.ts';
import { Backend } from './backend.ts';
import { type Answer, type Ask, ask, askSecurely } from './client.ts';
import { type Change, delta } from './words.ts';

/** Creates the driver under test. */
export type MakeDriver = (
  options: DriverOptions & { accessLog: string },
  dependencies: { log: Logger },
) => Driver | Promise<Driver>;

/** The UID of the L7Router of the data plane. */
export const IDENTITY = '6b1f60a4-5f1e-4bb1-9d0e-0e6f3a6a7f10';

/** A data plane, its endpoints and the current generation. */
export class World {
  readonly driver: Driver;
  readonly directory: string;
  readonly ports: Listening;
  readonly #backends: Backend[] = [];
  #generation = 0;

  static async start(
    make: MakeDriver,
    defaults: Partial<DriverOptions['defaults']> = {},
    { httpPort = 0, first, ...more }: { httpPort?: number; first?: Change; proxyProtocol?: boolean } = {},
  ): Promise<World> {
    const directory = await mkdtemp(join(tmpdir(), 'tidegate-dataplane-'));
    const driver = await make(
      {
        address: '127.0.0.1',
        httpPort,
        httpsPort: 0,
        directory,
        className: 'gold',
        identity: IDENTITY,
        ...more,
        accessLog: join(directory, 'access.log'),
        defaults: { connectTimeoutMs: 5_000, readTimeoutMs: 20_000, maxBodyBytes: 0, ...defaults },
      },
      { log: silentLogger },
    );
    const world = new World(driver, directory, await driver.start(first && delta(0, 1, first)));
    if (first !== undefined) world.#generation = 1;
    return world;
  }

  private constructor(driver: Driver, directory: string, ports: Listening) {
    this.driver = driver;
    this.directory = directory;
    this.ports = ports;
  }

  get generation(): number {
    return this.#generation;
  }

  async backend(name: string, options: Parameters<typeof Backend.start>[1] = {}): Promise<Backend> {
    const backend = await Backend.start(name, options);
    this.#backends.push(backend);
    return backend;
  }

  /** Applies a change as the next delta. */
  async change(change: Change): Promise<void> {
    const from = this.#generation++;
    await this.driver.apply(delta(from, from + 1, change));
  }

  /** Replaces the whole table. */
  async replace(change: Change): Promise<void> {
    await this.driver.apply(delta(0, ++this.#generation, change));
  }

  ask(where: string, options?: Ask): Promise<Answer> {
    return ask(this.ports.http, where, options);
  }

  askSecurely(where: string, options?: Ask): Promise<Answer> {
    return askSecurely(this.ports.https, where, options);
  }

  /** Name of the backend that responded, or the status if the response is not 200. */
  async respondingBackend(where: string, options?: Ask): Promise<string | number> {
    const { status, echo } = await lazily(this.ask(where, options));
    return status === 200 ? echo().backend : status;
  }

  async accessLog(): Promise<Record<string, unknown>[]> {
    const text = await readFile(join(this.directory, 'access.log'), 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
  }

  async stop(): Promise<void> {
    await this.driver.close();
    await Promise.all(this.#backends.map((backend) => backend.stop()));
    await rm(this.directory, { recursive: true, force: true });
  }
}

const lazily = async (asked: Promise<Answer>) => {
  const answer = await asked;
  return { status: answer.status, echo: () => answer.echo };
};
