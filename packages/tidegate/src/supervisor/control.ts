/**
 * The protocol between the supervisor and the other commands: a unix socket in the state directory, one request per
 * connection, one JSON document per line. The client sends, for example, `{"command":"cut","targets":["node-a"]}`.
 * The supervisor replies with `{"accepted":true}` immediately, then with any number of `{"progress":"..."}`, and then
 * with either `{"result":...}` or `{"error":"..."}`.
 */
import { rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import { lockOwner, type ProcessIdentity, quotePath } from '@tidegate/disk';
import { callerFor } from './caller.ts';
import type { Component } from './components.ts';
import { codeOf, SupervisorError } from './error.ts';
import type { StateDirectory } from './state.ts';

/** A request of another command. `all` selects every node and replaces `targets`. */
export type ControlRequest =
  | { command: 'status' }
  | { command: 'stop' }
  | { command: 'cut' | 'mend'; targets: string[]; all: boolean }
  | { command: 'reboot'; targets: string[] }
  | { command: 'kill'; component: Component; names: string[] };

/** Carries out a request of another `tidegate` command. Progress lines are shown to the user while it runs. */
export type ControlHandler = (request: ControlRequest, progress: (line: string) => void) => Promise<unknown>;

type Reply = { accepted: true } | { progress: string } | { result: unknown } | { error: string };

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
      const lines = createInterface({ input: socket });
      // The client disconnected; there is no client left to reply to. The interface repeats the errors of its input.
      for (const emitter of [socket, lines]) emitter.on('error', () => socket.destroy());
      lines.once('line', (line) => {
        const answering = answer(socket, line, handle).finally(() => this.#answers.delete(answering));
        this.#answers.add(answering);
      });
    });
  }

  static async listen(path: string, handle: ControlHandler): Promise<ControlServer> {
    const length = Buffer.byteLength(path);
    if (length > MAX_SOCKET_PATH) {
      throw new SupervisorError(
        `the path of the state directory is too long: the path of its socket ${quotePath(path)} has ${length} bytes, and the limit is ${MAX_SOCKET_PATH}; choose a shorter path with --state`,
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
  reply({ accepted: true });
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

/** The slowest reply is that of `status`, which waits for the API server and for routers. */
const SILENCE_MS = 60_000;

interface CallOptions {
  /** The supervisor has received the request. */
  onAccepted?(): void;
  onProgress?(line: string): void;
  /** Default: a minute. */
  signal?: AbortSignal;
}

/**
 * Sends a request to the supervisor of a state directory. Undefined when none is running. Rejects when no reply comes
 * before the signal is aborted.
 */
export async function callSupervisor(
  state: StateDirectory,
  request: ControlRequest,
  { onAccepted, onProgress, signal = AbortSignal.timeout(SILENCE_MS) }: CallOptions = {},
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
    throw unresponsive(state, owner, (cause as Error).message);
  }
  const lines = createInterface({ input: socket });
  const giveUp = (): void => lines.close();
  signal.addEventListener('abort', giveUp, { once: true });
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of lines) {
      const reply = JSON.parse(line) as Reply;
      if ('error' in reply) throw new SupervisorError(reply.error);
      if ('result' in reply) return { result: reply.result };
      if ('accepted' in reply) onAccepted?.();
      else onProgress?.(reply.progress);
    }
    if (signal.aborted) throw unresponsive(state, owner, 'it does not reply');
    throw new SupervisorError('the supervisor exited before it replied');
  } finally {
    signal.removeEventListener('abort', giveUp);
    socket.destroy();
  }
}

const unresponsive = ({ path }: StateDirectory, { pid }: ProcessIdentity, why: string): SupervisorError =>
  new SupervisorError(
    `a cluster is running in ${quotePath(path)} (pid ${pid}), but it does not respond (${why}); stop it with \`${callerFor(path)('down')}\``,
  );

/** The process that holds the lock of the state directory, which is the running supervisor. */
export async function ownerOf({ path }: StateDirectory): Promise<ProcessIdentity | undefined> {
  try {
    return await lockOwner(path);
  } catch (error) {
    // A missing directory holds no cluster, but an unreadable directory may hold one.
    if (codeOf(error) === 'ENOENT' || codeOf(error) === 'ENOTDIR') return undefined;
    throw new SupervisorError(
      `cannot read the state directory ${quotePath(path)}: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}
