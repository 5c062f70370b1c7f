/**
 * How other commands speak to the supervisor: a unix socket in the state directory. One request a connection, one JSON
 * document a line: `{"command":"cut","targets":["node-a"]}`, then any number of `{"progress":"..."}`, then
 * `{"result":...}` or `{"error":"..."}`.
 */
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { lockOwner } from '@tidegate/disk';
import { codeOf, SupervisorError } from './error.ts';
import type { StateDirectory } from './state.ts';

export type ControlRequest =
  | { command: 'status' }
  | { command: 'stop' }
  | { command: 'cut' | 'mend'; targets: string[]; all: boolean };

export type ControlHandler = (request: ControlRequest, progress: (line: string) => void) => Promise<unknown>;

type Reply = { progress: string } | { result: unknown } | { error: string };

/** What operating systems allow for the path of a socket. */
const LONGEST_PATH = 103;

export class ControlServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #answers = new Set<Promise<void>>();

  private constructor(handle: ControlHandler) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      // The client went away; nobody is left to tell.
      socket.on('error', () => socket.destroy());
      createInterface({ input: socket }).once('line', (line) => {
        const answering = answer(socket, line, handle).finally(() => this.#answers.delete(answering));
        this.#answers.add(answering);
      });
    });
  }

  static async listen(path: string, handle: ControlHandler): Promise<ControlServer> {
    const length = Buffer.byteLength(path);
    if (length > LONGEST_PATH) {
      throw new SupervisorError(
        `the path of the state directory is too long: its socket ${path} has ${length} bytes, and ${LONGEST_PATH} are possible; choose a shorter one with --state`,
      );
    }
    // Whoever holds the lock owns the path: what is there was left by a supervisor that was killed.
    await rm(path, { force: true });
    const control = new ControlServer(handle);
    // The state directory belongs to its owner only; so does the socket, from its first moment.
    const mask = process.umask(0o177);
    try {
      await new Promise<void>((resolve, reject) => {
        control.#server.once('error', reject);
        control.#server.listen(path, resolve);
      });
    } finally {
      process.umask(mask);
    }
    return control;
  }

  /** Whoever has asked is still answered, the one who asked for the end too. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await Promise.all(this.#answers);
    for (const socket of this.#sockets) socket.destroySoon();
    await closed;
  }
}

async function answer(socket: Socket, line: string, handle: ControlHandler): Promise<void> {
  const reply = (message: Reply): void => {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
  };
  try {
    const request = JSON.parse(line) as ControlRequest;
    reply({ result: (await handle(request, (text) => reply({ progress: text }))) ?? null });
  } catch (error) {
    reply({ error: error instanceof Error ? error.message : String(error) });
  }
  await new Promise<void>((resolve) => {
    socket.once('close', () => resolve());
    socket.end(resolve);
  });
}

/** Asks whoever runs the cluster of a state directory. Undefined when nobody does. */
export async function askSupervisor(
  state: StateDirectory,
  request: ControlRequest,
  progress: (line: string) => void = () => {},
): Promise<{ result: unknown } | undefined> {
  const owner = await ownerOf(state);
  if (owner === undefined) return undefined;
  const socket = connect(state.socket);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    });
  } catch (cause) {
    throw new SupervisorError(
      `a cluster runs in ${state.path} (pid ${owner.pid}), but does not answer: ${(cause as Error).message}`,
      { cause },
    );
  }
  socket.write(`${JSON.stringify(request)}\n`);
  for await (const line of createInterface({ input: socket })) {
    const reply = JSON.parse(line) as Reply;
    if ('error' in reply) throw new SupervisorError(reply.error);
    if ('result' in reply) return { result: reply.result };
    progress(reply.progress);
  }
  throw new SupervisorError('the supervisor ended before it answered');
}

async function ownerOf({ path }: StateDirectory): Promise<{ pid: number } | undefined> {
  try {
    return await lockOwner(path);
  } catch (error) {
    // Without a directory there is no cluster; in one that may not be read there may well be one.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new SupervisorError(`can not read the state directory ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
