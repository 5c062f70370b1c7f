import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
  type DetailedPeerCertificate,
  type PeerCertificate,
  type TLSSocket,
} from 'node:tls';
import type { ClientPair, Endpoint, Upstream } from '../ingress/model.ts';

/** Ciphers of TLS 1.2, with all of TLS 1.3: Node.js has both in one list, and OpenSSL and nginx do not. */
export const cipherList = (ciphers: string): string => `${ciphers}:${TLS13_CIPHERS}`;

const TLS13_CIPHERS = 'TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256:TLS_AES_128_GCM_SHA256';

/** The name in the handshake with endpoints of an upstream over TLS. Undefined: none is sent. */
export function nameSentTo({ tls, ...upstream }: Upstream): string | undefined {
  if (tls === undefined) return `${upstream.service}.${upstream.namespace}.svc`;
  return tls.sendsName ? nameOf({ ...upstream, tls }) : undefined;
}

const nameOf = ({ tls, service, namespace }: Upstream): string => tls?.name ?? `${service}.${namespace}.svc`;

/**
 * How both data planes connect to endpoints over TLS, besides the name. `pair` is the content of the Secret; it exists if the upstream
 * names one. Without settings, the certificate is not checked: only the address of an endpoint is known, not its name.
 */
export function endpointTls(upstream: Upstream, pair: ClientPair | undefined): ConnectionOptions {
  const { tls } = upstream;
  if (tls === undefined) return { rejectUnauthorized: false };
  const { verify, depth, protocols, ciphers } = tls;
  return {
    rejectUnauthorized: verify,
    minVersion: protocols.includes('TLSv1.2') ? 'TLSv1.2' : 'TLSv1.3',
    maxVersion: protocols.includes('TLSv1.3') ? 'TLSv1.3' : 'TLSv1.2',
    ...(ciphers !== undefined && { ciphers: cipherList(ciphers) }),
    ...(pair?.certificate !== undefined && { cert: pair.certificate, key: pair.key }),
    // Without any, no certificate is valid. Node.js would use the authorities of browsers.
    ...(verify && { ca: pair?.authorities ?? [] }),
    checkServerIdentity: (_: string, shown: PeerCertificate) =>
      checkServerIdentity(nameOf(upstream), shown) ?? tooLong(shown as DetailedPeerCertificate, depth),
  };
}

/** Node.js cannot limit the length of a chain. It is valid here, so it ends with a certificate that has issued itself. */
function tooLong(leaf: DetailedPeerCertificate, depth: number): Error | undefined {
  let between = -1;
  for (
    let at = leaf;
    at.issuerCertificate !== undefined && at.issuerCertificate !== at;
    at = at.issuerCertificate
  )
    between++;
  return between > depth
    ? new Error(
        `${between} authorities are between the certificate of the endpoint and its root, the limit is ${depth}`,
      )
    : undefined;
}

/** The handshake with an endpoint took too long. */
export class HandshakeTimeout extends Error {
  override readonly name = 'HandshakeTimeout';
}

/** Connects to an endpoint. `done` is called once, with an error or when the handshake has succeeded. */
export function connectToEndpoint(
  upstream: Upstream,
  { address, port }: Endpoint,
  { pair, timeoutMs }: { pair: ClientPair | undefined; timeoutMs: number },
  done: (error: Error | undefined, socket: TLSSocket) => void,
): TLSSocket {
  const socket = connect({
    ...endpointTls(upstream, pair),
    ...{ host: address, port, servername: nameSentTo(upstream) ?? '' },
    ALPNProtocols: [upstream.protocol === 'grpc' ? 'h2' : 'http/1.1'],
  });
  const limit = setTimeout(
    () => socket.destroy(new HandshakeTimeout(`no TLS handshake in ${timeoutMs} ms`)),
    timeoutMs,
  );
  const end = (error: Error | undefined): void => {
    clearTimeout(limit);
    socket.off('secureConnect', end);
    socket.off('error', end);
    socket.off('close', onClose);
    done(error, socket);
  };
  const onClose = (): void => end(new Error('the endpoint closed the connection'));
  socket.once('secureConnect', end);
  socket.once('error', end);
  socket.once('close', onClose);
  return socket;
}
