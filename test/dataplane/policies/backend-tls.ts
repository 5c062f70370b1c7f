import { createSecureServer, type Http2SecureServer } from 'node:http2';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { TestAuthority } from '../../../packages/tidegate/src/ingress/testing/certificates.ts';
import { slice } from '../../../packages/tidegate/src/ingress/testing/objects.ts';
import type { MakeDriver } from '../support/world.ts';
import { ClientAuthority } from './client-authority.ts';
import { PolicyCluster } from './policy-cluster.ts';
import { users as secretOf } from './users.ts';

/** What a backend knows about the connection of a request. */
interface Seen {
  client: string | null;
  name: string | false | null;
  version: string | null;
  cipher: string;
}

/** TLS to endpoints, from the annotations to what a backend sees. */
export function backendTls(make: MakeDriver): void {
  describe('TLS to endpoints', () => {
    let it: PolicyCluster;
    let clients: ClientAuthority;
    let between: ClientAuthority;
    let ann: { cert: string; key: string };
    const authority = new TestAuthority();
    const foreign = new TestAuthority();
    const servers: (Server | Http2SecureServer)[] = [];

    const seenBy = (socket: TLSSocket): Seen => ({
      client: (socket.getPeerCertificate().subject?.CN as string | undefined) ?? null,
      name: (socket as TLSSocket & { servername: string | false }).servername,
      version: socket.getProtocol(),
      cipher: socket.getCipher().name,
    });

    /** Starts a backend as the only endpoint of a Service. */
    const backend = async (service: string, options: TlsOptions): Promise<void> => {
      const server = createServer(
        { requestCert: true, rejectUnauthorized: false, ...options },
        (request, response) => {
          response.end(JSON.stringify(seenBy(request.socket as TLSSocket)));
        },
      );
      await listen(server, service);
    };
    const listen = async (server: Server | Http2SecureServer, service: string): Promise<void> => {
      servers.push(server);
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      const { port } = server.address() as AddressInfo;
      await it.cluster.service(service);
      it.cluster.put('EndpointSlice', slice(service, { '127.0.0.1': {} }, { ports: { http: port } }));
    };
    /** What the backend saw, or the status. */
    const ask = async (service: string, annotations: Record<string, string> = {}): Promise<Seen | number> => {
      const host = `h${Math.random().toString(36).slice(2)}.io`;
      await it.serve({ [`${host}/`]: `${service}:80` }, { 'backend-protocol': 'HTTPS', ...annotations });
      return answerOf(host);
    };
    const answerOf = async (host: string): Promise<Seen | number> => {
      const { status, body } = await it.world.ask(`${host}/`);
      return status === 200 ? (JSON.parse(body) as Seen) : status;
    };
    const pairOf = ({ certificate, key }: { certificate: string; key: string }) => ({
      cert: certificate,
      key,
    });

    beforeAll(async () => {
      it = await PolicyCluster.start(make);
      clients = await ClientAuthority.create('clients');
      between = await ClientAuthority.create('between', clients);
      ann = await clients.issue('/CN=ann');
      await backend('own', pairOf(authority.issue(['own.shop.svc'])));
      await backend('named', pairOf(authority.issue(['inner.example'])));
      await backend('foreign', pairOf(foreign.issue(['foreign.shop.svc'])));
      await backend('old', { ...pairOf(authority.issue(['old.shop.svc'])), maxVersion: 'TLSv1.2' });
      it.cluster.put('Secret', secretOf('ca', { 'ca.crt': authority.certificate }));
      it.cluster.put('Secret', secretOf('ann', { 'tls.crt': ann.cert, 'tls.key': ann.key }));
      it.cluster.put(
        'Secret',
        secretOf('both', { 'tls.crt': ann.cert, 'tls.key': ann.key, 'ca.crt': authority.certificate }),
      );
    });
    afterAll(async () => {
      await it.stop();
      for (const server of servers) {
        if ('closeAllConnections' in server) server.closeAllConnections();
        server.close();
      }
      for (const each of [clients, between]) each.end();
    });

    test('without annotations, a backend is not checked', async () => {
      expect(await ask('foreign')).toMatchObject({ client: null });
    });

    test('a backend gets the certificate of the Secret', async () => {
      expect(await ask('own', { 'proxy-ssl-secret': 'shop/ann' })).toMatchObject({
        client: 'ann',
        name: false,
      });
      expect(await ask('own', { 'proxy-ssl-secret': 'ca' })).toMatchObject({ client: null });
    });

    test('a backend without a certificate of the authority, or with another name, gets no request', async () => {
      const on = { 'proxy-ssl-secret': 'both', 'proxy-ssl-verify': 'on' };
      expect(await ask('own', on)).toMatchObject({ client: 'ann' });
      expect(await ask('foreign', on)).toBe(502);
      expect(await ask('named', on)).toBe(502);
      expect(await ask('named', { ...on, 'proxy-ssl-name': 'inner.example' })).toMatchObject({ name: false });
      expect(await ask('named', { 'proxy-ssl-secret': 'both' })).toMatchObject({ client: 'ann' });
    });

    test('the name is sent if the annotation asks for it', async () => {
      const named = { 'proxy-ssl-name': 'inner.example', 'proxy-ssl-server-name': 'on' };
      expect(await ask('foreign', named)).toMatchObject({ name: 'inner.example' });
      expect(await ask('own', { 'proxy-ssl-server-name': 'on' })).toMatchObject({ name: 'own.shop.svc' });
    });

    test('the number of authorities is limited', async () => {
      const deep = await ClientAuthority.create('deep', between);
      const leaf = await deep.issue('/CN=deep.shop.svc', { usage: 'server' });
      const chain = leaf.cert + deep.certificate + between.certificate;
      await backend('deep', { cert: chain, key: leaf.key });
      it.cluster.put('Secret', secretOf('root', { 'ca.crt': clients.certificate }));
      const on = { 'proxy-ssl-secret': 'root', 'proxy-ssl-verify': 'on', 'proxy-ssl-name': 'deep.shop.svc' };
      expect(await ask('deep', on)).toBe(502);
      expect(await ask('deep', { ...on, 'proxy-ssl-verify-depth': '2' })).toMatchObject({
        version: 'TLSv1.3',
      });
      deep.end();
    });

    test('versions and ciphers are those of the annotations', async () => {
      expect(await ask('own', { 'proxy-ssl-protocols': 'TLSv1.2' })).toMatchObject({ version: 'TLSv1.2' });
      expect(await ask('own', { 'proxy-ssl-protocols': 'TLSv1.2 TLSv1.3' })).toMatchObject({
        version: 'TLSv1.3',
      });
      expect(await ask('old', { 'proxy-ssl-protocols': 'TLSv1.3' })).toBe(502);
      const cipher = 'ECDHE-ECDSA-AES128-GCM-SHA256';
      const only = { 'proxy-ssl-protocols': 'TLSv1.2', 'proxy-ssl-ciphers': cipher };
      expect(await ask('own', only)).toMatchObject({ cipher });
      expect(await ask('old', { 'proxy-ssl-ciphers': 'ECDHE-RSA-AES128-GCM-SHA256' })).toBe(502);
    });

    test('without the Secret, or what is needed of it, the response is 503; a change applies', async () => {
      const host = 'changing.io';
      const on = { 'backend-protocol': 'HTTPS', 'proxy-ssl-secret': 'changing', 'proxy-ssl-verify': 'on' };
      await it.serve({ [`${host}/`]: 'own:80' }, on);
      expect(await answerOf(host)).toBe(503);
      for (const [data, expected] of [
        [{ 'ca.crt': authority.certificate }, { client: null }],
        [{ 'tls.crt': ann.cert, 'tls.key': ann.key }, 503],
        [{ 'ca.crt': 'x' }, 503],
        [{ 'ca.crt': authority.certificate, 'tls.crt': ann.cert }, 503],
        [{ 'ca.crt': authority.certificate, 'tls.crt': ann.cert, 'tls.key': ann.key }, { client: 'ann' }],
      ] as [Record<string, string>, object | number][]) {
        it.cluster.put('Secret', secretOf('changing', data));
        await it.cluster.serve();
        // A connection that is kept has the certificate of its handshake.
        const answer = expect.poll(() => answerOf(host), { timeout: 60_000 });
        await (typeof expected === 'number' ? answer.toBe(expected) : answer.toMatchObject(expected));
      }
      it.cluster.remove('Secret', 'shop/changing');
      await it.cluster.serve();
      expect(await answerOf(host)).toBe(503);
    });

    test('gRPC over TLS', async () => {
      const server = createSecureServer(pairOf(authority.issue(['rpc.shop.svc'])));
      server.on('stream', (stream, headers) => {
        stream.respond({
          ':status': 200,
          'content-type': 'application/grpc',
          'x-scheme': `${headers[':path']}`,
        });
        stream.end();
      });
      await listen(server, 'rpc');
      const grpcs = { 'backend-protocol': 'GRPCS', 'proxy-ssl-secret': 'ca', 'proxy-ssl-verify': 'on' };
      await it.serve({ 'rpc.io/': 'rpc:80' }, grpcs);
      await it.serve({ 'plain.io/': 'rpc:80' }, { 'backend-protocol': 'GRPCS' });
      await it.serve({ 'wrong.io/': 'rpc:80' }, { ...grpcs, 'proxy-ssl-name': 'other.example' });
      for (const [host, expected] of [
        ['rpc.io', 200],
        ['plain.io', 200],
        ['wrong.io', 502],
      ] as const)
        expect({ host, status: (await it.world.askSecurely(`${host}/a.B/C`)).status }).toEqual({
          host,
          status: expected,
        });
    });

    test.each([
      [{ 'proxy-ssl-verify': 'on' }],
      [{ 'proxy-ssl-verify': 'yes' }],
      [{ 'proxy-ssl-secret': 'other/ca' }],
      [{ 'proxy-ssl-name': '$host' }],
      [{ 'proxy-ssl-protocols': 'SSLv3' }],
      [{ 'proxy-ssl-ciphers': 'NOTHING' }],
      [{ 'proxy-ssl-verify-depth': '-1' }],
    ])('%j closes the paths', async (annotations: Record<string, string>) => {
      expect(await ask('own', annotations)).toBe(503);
    });
  });
}
