import { Agent, type AgentOptions } from 'node:http';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { TestProcess } from '../../support/process.ts';
import { repositoryFile } from '../../support/repository.ts';
import type { Place } from '../support/program.ts';

/** Connections from the process of the test into a network namespace: the test is a client of the site then. */
export class Entry {
  readonly #relay: TestProcess;
  readonly #socket: string;

  private constructor(relay: TestProcess, socket: string) {
    this.#relay = relay;
    this.#socket = socket;
  }

  static async open(place: Place, directory: string, name: string): Promise<Entry> {
    const socket = join(directory, `${name}.sock`);
    const relay = new TestProcess([
      ...place.wrapper,
      process.execPath,
      repositoryFile('test/kube/cluster/relay.js'),
      socket,
    ]);
    await relay.until(({ stdout }) => stdout.includes('listening'));
    return new Entry(relay, socket);
  }

  /** Rejects with the error code of the connection in the namespace, for example ECONNREFUSED. */
  connect(host: string, port: number): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.#socket);
      // Without a code: it must not look like an error of the connection in the namespace.
      const onError = ({ message }: Error): void =>
        reject(new Error(`the relay cannot be reached: ${message}: ${this.#relay.output}`));
      socket.once('error', onError);
      socket.once('connect', () => socket.write(`${host} ${port}\n`));
      let answer = '';
      // Byte by byte, and without a listener for data: what follows the line belongs to the user of the connection, which
      // must neither be paused nor lose anything.
      const onReadable = (): void => {
        for (let byte = socket.read(1) as Buffer | null; byte !== null; byte = socket.read(1)) {
          if (byte.toString() !== '\n') {
            answer += byte.toString();
            continue;
          }
          socket.off('readable', onReadable);
          socket.off('error', onError);
          socket.off('end', onEnd);
          if (answer === 'ok') {
            resolve(socket);
          } else {
            socket.destroy();
            reject(Object.assign(new Error(`connect ${answer} ${host}:${port}`), { code: answer }));
          }
          return;
        }
      };
      const onEnd = (): void =>
        reject(new Error(`the relay has ended before it connected to ${host}:${port}`));
      socket.on('readable', onReadable);
      socket.once('end', onEnd);
    });
  }

  /** An agent for HTTP requests through this entry. */
  agent(options: AgentOptions = {}): Agent {
    return new EntryAgent(async () => this, options);
  }

  async close(): Promise<void> {
    await this.#relay.kill('SIGKILL');
  }
}

/** An agent for HTTP requests from a client in a network namespace. */
export class EntryAgent extends Agent {
  readonly #entry: () => Promise<Entry>;

  constructor(entry: () => Promise<Entry>, options: AgentOptions) {
    super(options);
    this.#entry = entry;
  }

  /** Node.js calls this for a new connection. */
  createConnection(
    options: { host?: string | null; port?: string | number | null },
    callback: (error: Error | null, stream: Duplex) => void,
  ): undefined {
    this.#entry()
      .then((entry) => entry.connect(`${options.host}`, Number(options.port)))
      .then(
        (socket) => callback(null, socket),
        (error: Error) => callback(error, undefined as unknown as Duplex),
      );
  }
}
