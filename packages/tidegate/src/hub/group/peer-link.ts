import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { PeerCertificate } from 'node:tls';
import type { Clock, CredentialSource } from '@tidegate/kube';
import { type Frame, FrameError, MOST_FRAME_BYTES, parseFrame } from './frames.ts';
import { REPORTS_PATH } from './group-server.ts';
import { nodeOf } from './node-certificate.ts';

export interface PeerLinkOptions {
  /** The node that must answer. */
  node: string;
  host: string;
  port: number;
  /** The client certificate of this node. */
  credentials: CredentialSource;
  /** The CAs of the serving certificates of nodes, in PEM format. */
  ca: readonly string[];
  /** Without a sign of life for this long, the connection is given up. */
  silenceMs: number;
  clock: Clock;
  onFrame(frame: Frame): void;
  /** Called for every sign of life of the node. */
  onAlive(): void;
}

/**
 * Reads the reports of one node until the connection ends, which rejects with the reason. Whatever arrives was sent by the
 * node itself: the server shows a certificate with the identity of the node, and reports are not passed on.
 */
export async function readReports(options: PeerLinkOptions, signal: AbortSignal): Promise<never> {
  const { cert, key } = await options.credentials.current();
  if (cert === undefined || key === undefined)
    throw new Error('the credentials of this node are not a client certificate, which the group needs');
  signal.throwIfAborted();
  return new Promise<never>((_, reject) => {
    const { host, port, node, clock, silenceMs, ca } = options;
    const outgoing = request({
      ...{ host, port, path: REPORTS_PATH, agent: false, ca: [...ca], cert, key, minVersion: 'TLSv1.2' },
      // The certificates of hubs contain no address that other nodes use. They identify the node by their subject.
      checkServerIdentity: (_host, shown) => identityError(shown, node),
      // The name of a host that is an address would not be valid.
      servername: '',
    });
    let cancel = (): void => {};
    const end = (error: Error): void => {
      cancel();
      signal.removeEventListener('abort', abort);
      outgoing.destroy();
      reject(error);
    };
    const abort = (): void => end(new Error('the hub no longer reads from this node'));
    const alive = (): void => {
      cancel();
      cancel = clock.after(silenceMs, () => end(new Error(`no sign of life for ${silenceMs} ms`)));
    };
    alive();
    signal.addEventListener('abort', abort);
    outgoing.on('error', end);
    outgoing.on('response', (response) => {
      if (response.statusCode !== 200) return end(new Error(`node ${node} answers ${response.statusCode}`));
      alive();
      options.onAlive();
      read(response, options, alive, end);
    });
    outgoing.end();
  });
}

/** Splits the response into lines. */
function read(
  response: IncomingMessage,
  { onFrame, onAlive }: PeerLinkOptions,
  alive: () => void,
  end: (error: Error) => void,
): void {
  let rest = '';
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    alive();
    onAlive();
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    try {
      if (rest.length > MOST_FRAME_BYTES) throw new FrameError('a line is too long');
      for (const line of lines) if (line !== '') onFrame(parseFrame(line));
    } catch (error) {
      end(error as Error);
    }
  });
  response.on('error', end);
  response.on('close', () => end(new Error('the node has closed the connection')));
}

function identityError(shown: PeerCertificate, node: string): Error | undefined {
  const found = nodeOf(new X509Certificate(shown.raw));
  return found === node
    ? undefined
    : new Error(
        `the server has the identity of ${found === undefined ? 'no node' : `node ${found}`}, not of node ${node}`,
      );
}
