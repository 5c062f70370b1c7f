/**
 * A network namespace with other programs in it, which listen on all addresses. On the machine itself they would take
 * their ports from every other test.
 */
import { run, TestProcess } from './process.ts';

/** Accepts connections at every address of the arguments, for example `0.0.0.0:8080`, and answers every request. */
const STRANGERS = `
const { createServer } = require('node:http');
const { once } = require('node:events');
Promise.all(process.argv.slice(1).map((at) => {
  const [, host, port] = /^(.*):(\\d+)$/.exec(at);
  const server = createServer((_, response) => response.end('stranger'));
  server.listen(Number(port), host);
  return once(server, 'listening');
})).then(() => console.log('listening'));
`;

/** Prints the body of the response to a request with a Host header. */
const GET = `
const [url, host] = process.argv.slice(1);
require('node:http').get(url, { headers: { host } }, (response) => response.pipe(process.stdout));
`;

const isRoot = process.getuid?.() === 0;

export class Network {
  readonly #holder: TestProcess;

  private constructor(holder: TestProcess) {
    this.#holder = holder;
  }

  /** Resolves when the programs listen. Only root may create a namespace of the network alone. */
  static async open(...addresses: string[]): Promise<Network> {
    const program = [process.execPath, '-e', STRANGERS, '--', ...addresses];
    const holder = new TestProcess([
      ...['unshare', isRoot ? '-n' : '-rn', '--'],
      ...['sh', '-c', 'PATH=$PATH:/usr/sbin:/sbin ip link set lo up && exec "$@"', 'sh', ...program],
    ]);
    await holder.until(({ stdout }) => stdout.includes('listening'));
    return new Network(holder);
  }

  /** A process in this network. */
  get pid(): number {
    return Number(this.#holder.pid);
  }

  /** The command line that runs a command in this network. */
  command(...command: string[]): string[] {
    const user = isRoot ? [] : ['-U', '--preserve-credentials'];
    return ['nsenter', '-t', String(this.#holder.pid), '-n', ...user, '--', ...command];
  }

  /** The body of the response. */
  get(url: string, host: string): Promise<string> {
    return run(this.command(process.execPath, '-e', GET, '--', url, host));
  }

  async close(): Promise<void> {
    await this.#holder.kill('SIGKILL');
  }
}
