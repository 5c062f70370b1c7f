import type { Duplex } from 'node:stream';
import { SpdyConnection } from '../spdy/connection.ts';
import { type Channels, parseSize, type TerminalSize, type Wanted } from './channels.ts';

/** v4 reports exit codes. Older clients do not exist in the supported range. */
export const SPDY_PROTOCOL = 'v4.channel.k8s.io';

/** How long a client may take to open its streams. */
const OPEN_MS = 30_000;

/** The streams of a SPDY connection, as kubectl before 1.31 uses them. Resolves when the client has opened all. */
export async function spdyChannels(transport: Duplex, wanted: Wanted): Promise<Channels> {
  const names = ['error', 'stdin', 'stdout', 'stderr'].filter(
    (name) => name === 'error' || wanted[name as 'stdin' | 'stdout' | 'stderr'],
  );
  if (wanted.tty) names.push('resize');
  const left = new AbortController();
  const streams = new Map<string, Duplex>();
  const connection = await new Promise<SpdyConnection>((resolve, reject) => {
    const patience = setTimeout(() => {
      reject(new Error(`the client did not open the streams ${names.join(', ')}`));
      transport.destroy();
    }, OPEN_MS);
    const opened = new SpdyConnection(transport, ({ headers, duplex }) => {
      duplex.on('error', () => {});
      streams.set(headers.streamtype ?? '', duplex);
      if (!names.every((name) => streams.has(name))) return;
      clearTimeout(patience);
      resolve(opened);
    });
    void opened.closed.then(() => {
      left.abort();
      clearTimeout(patience);
      reject(new Error('the client closed the connection before it had opened its streams'));
    });
  });
  const { stdin, stdout, stderr } = Object.fromEntries(streams);
  return {
    ...(wanted.stdin && stdin !== undefined ? { stdin } : {}),
    ...(wanted.stdout && stdout !== undefined ? { stdout } : {}),
    ...(wanted.stderr && stderr !== undefined ? { stderr } : {}),
    onResize: (handler) => followSizes(streams.get('resize'), handler),
    finish: (status) => finish(connection, streams, status),
    left: left.signal,
  };
}

function followSizes(resize: Duplex | undefined, handler: (size: TerminalSize) => void): void {
  // Each size is a JSON document, which may arrive in pieces or with others.
  let text = '';
  resize?.on('data', (piece: Buffer) => {
    text += piece.toString();
    const documents = text.split(/(?<=\})/);
    text = documents.at(-1)?.endsWith('}') === true ? '' : (documents.pop() ?? '');
    for (const document of documents) {
      const size = parseSize(document);
      if (size !== undefined) handler(size);
    }
  });
}

/** An empty status means success in this protocol, too; the text is sent in all cases, as the kubelet does. */
async function finish(
  connection: SpdyConnection,
  streams: ReadonlyMap<string, Duplex>,
  status: object,
): Promise<void> {
  streams.get('error')?.write(JSON.stringify(status));
  const ends = [...streams.values()].map(
    (stream) =>
      new Promise<void>((resolve) => {
        if (stream.destroyed) return resolve();
        stream.once('close', resolve);
        stream.end(resolve);
      }),
  );
  await Promise.all(ends);
  connection.close();
}
