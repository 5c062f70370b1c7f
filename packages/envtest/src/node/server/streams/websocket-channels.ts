import { PassThrough, Writable } from 'node:stream';
import type { WebSocket } from 'ws';
import { type Channels, parseSize, type TerminalSize, type Wanted } from './channels.ts';

/** By preference. v5 can close the input of a command; v4 cannot. */
export const CHANNEL_PROTOCOLS = ['v5.channel.k8s.io', 'v4.channel.k8s.io'];

/** The first byte of every message. */
const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;
const CLOSE = 255;

/** The channels of a WebSocket, as kubectl 1.31 and newer use them. */
export function webSocketChannels(socket: WebSocket, wanted: Wanted): Channels {
  const left = new AbortController();
  const stdin = new PassThrough();
  const handlers: ((size: TerminalSize) => void)[] = [];
  socket.once('close', () => left.abort());
  socket.on('error', () => socket.terminate());
  socket.on('message', (message: Buffer) => {
    const data = message.subarray(1);
    if (message[0] === STDIN && !stdin.writableEnded) {
      // Pauses the connection while the command does not read.
      if (!stdin.write(data)) socket.pause();
    } else if (message[0] === CLOSE && data[0] === STDIN) stdin.end();
    else if (message[0] === RESIZE) {
      const size = parseSize(data.toString());
      if (size !== undefined) for (const handler of handlers) handler(size);
    }
  });
  stdin.on('drain', () => socket.resume());
  const channel = (number: number): Writable =>
    new Writable({
      write: (data: Buffer, _encoding, done) => send(socket, number, data, done),
    });
  return {
    ...(wanted.stdin ? { stdin } : {}),
    ...(wanted.stdout ? { stdout: channel(STDOUT) } : {}),
    ...(wanted.stderr ? { stderr: channel(STDERR) } : {}),
    onResize: (handler) => handlers.push(handler),
    finish: (status) =>
      new Promise((resolve) => {
        send(socket, ERROR, Buffer.from(JSON.stringify(status)), () => {
          socket.resume();
          socket.close(1000);
          resolve();
        });
      }),
    left: left.signal,
  };
}

function send(socket: WebSocket, channel: number, data: Buffer, done: () => void): void {
  // A client that has left needs no data. Its end is reported by the event `close`.
  if (socket.readyState !== socket.OPEN) done();
  else socket.send(Buffer.concat([Buffer.from([channel]), data]), { binary: true }, () => done());
}
