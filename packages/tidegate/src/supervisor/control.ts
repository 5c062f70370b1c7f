/**
 * The protocol between the supervisor and the other commands: a unix socket in the state directory, one request per
 * connection, one JSON document per line. The client sends, for example, `{"command":"cut","targets":["node-a"]}`.
 * The supervisor replies with any number of `{"progress":"..."}` and then either `{"result":...}` or
 * `{"error":"..."}`.
 */
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { lockOwner } from '@tidegate/disk';
import { codeOf, SupervisorError } from './error.ts';
import type { StateDirectory } from './state.ts';

/** A request of another command. `all` selects every node and replaces `targets`. */
export type ControlRequest =
  | { command: 'status' }
  | { command: 'stop' }
  | { command: 'cut' | 'mend'; targets: string[]; all: boolean };

/** Carries out a request of another `tidegate` command. Progress lines are shown to the user while it runs. */
export type ControlHandler = (request: ControlRequest, progress: (line: string) => void) => Promise<unknown>;

type Reply = { progress: string } | { result: unknown } | { error: string };

/** The longest path of a unix socket that both Linux (107) and macOS (103) accept. */
const MAX_SOCKET_PATH = 103;

/** The supervisor's end of the control socket. */
export class ControlServer {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  readonly #answers = new Set<Promise<void>>();

  private constructor(handle: ControlHandler) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
      // The client disconnected; there is no client left to reply to.
      socket.on('error', () => socket.destroy());
      createInterface({ input: socket }).once('line', (line) => {
        const answering = answer(socket, line, handle).finally(() => this.#answers.delete(answering));
        this.#answers.add(answering);
      });
    });
  }

  static async listen(path: string, handle: ControlHandler): Promise<ControlServer> {
    const length = Buffer.byteLength(path);
    if (length > MAX_SOCKET_PATH) {
      throw new SupervisorError(
        `the path of the state directory is too long: the path of its socket ${path} has ${length} bytes, and the limit is ${MAX_SOCKET_PATH}; choose a shorter path with --state`,
      );
    }
    // The caller holds the lock of the state directory, so an existing socket was left by a supervisor that was killed.
    await rm(path, { force: true });
    const control = new ControlServer(handle);
    // The umask makes the socket private to its owner from the moment it exists.
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

  /** Stops listening and waits for replies in progress, including the reply to the request that caused the stop. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#server.close(() => resolve()));
    await Promise.all(this.#answers);
    for (const socket of this.#sockets) socket.destroySoon();
    await closed;
  }
}

/** Handles one request and closes the connection after the reply has been flushed. */
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

/** Sends a request to the supervisor of a state directory. Undefined when none is running. */
export async function callSupervisor(
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
      `a cluster is running in ${state.path} (pid ${owner.pid}), but it does not respond: ${(cause as Error).message}`,
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
  throw new SupervisorError('the supervisor exited before it replied');
}

/** The process that holds the lock of the state directory, which is the running supervisor. */
async function ownerOf({ path }: StateDirectory): Promise<{ pid: number } | undefined> {
  try {
    return await lockOwner(path);
  } catch (error) {
    // A missing directory holds no cluster, but an unreadable directory may hold one.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new SupervisorError(`cannot read the state directory ${path}: ${(error as Error).message}`, {
      cause: error,
    });
  }
}
