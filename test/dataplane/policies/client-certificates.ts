import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { Agent } from 'node:https';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askHttp2, askRaw, statusOf } from '../support/client.ts';
import type { MakeDriver } from '../support/world.ts';
import { ClientAuthority, type ClientKeyPair } from './client-authority.ts';
import { PolicyCluster } from './policy-cluster.ts';
import { users as secretOf } from './users.ts';

/** Client certificates, from the Secret to the answers of a data plane. */
export function clientCertificates(make: MakeDriver): void {
  describe('client certificates', () => {
    let it: PolicyCluster;
    let authority: ClientAuthority;
    let between: ClientAuthority;
    /** Has the same name as the first one. */
    let foreign: ClientAuthority;
    type Client = Awaited<ReturnType<ClientAuthority['issue']>>;
    let ann: Client;
    let bob: Client;
    let carl: Client;
    let chained: Client;
    let expired: Client;
    let server: Client;
    let stranger: Client;
    let late: Client;

    const agents: Agent[] = [];
    const sessions: ClientHttp2Session[] = [];
    /** A new connection of a client with this certificate. */
    const as = (pair?: ClientKeyPair) => {
      const agent = new Agent({ keepAlive: false, maxCachedSessions: 0, ...pair });
      agents.push(agent);
      return { agent };
    };
    const answerTo = async (where: string, pair?: ClientKeyPair): Promise<number | string> => {
      const answer = await it.world.askSecurely(where, as(pair));
      return answer.status === 200 ? answer.echo.backend : answer.status;
    };
    const session = (servername: string, pair?: ClientKeyPair): ClientHttp2Session => {
      const url = `https://127.0.0.1:${it.world.ports.https}`;
      const made = connectHttp2(url, { servername, rejectUnauthorized: false, ...pair });
      sessions.push(made);
      return made;
    };

    beforeAll(async () => {
      authority = await ClientAuthority.create('authority');
      between = await ClientAuthority.create('between', authority);
      foreign = await ClientAuthority.create('authority');
      ann = await authority.issue('/O=Shop/CN=ann');
      bob = await authority.issue('/O=CN=ann/CN=bob');
      carl = await between.issue('/CN=carl');
      chained = { ...carl, cert: carl.cert + between.certificate };
      expired = await authority.issue('/CN=ann', { days: -1 });
      server = await authority.issue('/CN=ann', { usage: 'server' });
      stranger = await foreign.issue('/CN=ann');
      late = await foreign.issue('/CN=ann', { days: -1 });
      it = await PolicyCluster.start(make);
      it.cluster.put('Secret', secretOf('ca', { 'ca.crt': authority.certificate }));
      await it.serve({ 'on.io/a': 'web:80' }, { 'auth-tls-secret': 'shop/ca' });
      await it.serve({ 'on.io/': 'other:80' });
      await it.serve({ 'open.io/': 'web:80' });
    });
    afterAll(async () => {
      for (const agent of agents) agent.destroy();
      for (const each of sessions) each.destroy();
      for (const each of [authority, between, foreign]) each.end();
      await it.stop();
    });

    test('a client with a certificate of the authority is served, and others are not', async () => {
      expect(await answerTo('on.io/a', ann)).toBe('web');
      expect(await answerTo('on.io/a', chained)).toBe('web');
      for (const pair of [undefined, expired, server, stranger, carl])
        expect(await answerTo('on.io/a', pair)).toBe(400);
      expect(await answerTo('open.io/', undefined)).toBe('web');
    });

    test('all paths of the host need it, also those of other Ingresses', async () => {
      expect(await answerTo('on.io/b')).toBe(400);
      expect(await answerTo('on.io/b', ann)).toBe('other');
      for (const path of ['//a', '/%61', '/A']) expect(await answerTo(`on.io${path}`)).toBe(400);
    });

    test('requests over plain HTTP are refused', async () => {
      expect(await it.world.respondingBackend('on.io/a')).toBe(403);
      await it.serve(
        { 'redirected.io/': 'web:80' },
        { 'auth-tls-secret': 'ca', 'force-ssl-redirect': 'true' },
      );
      expect(await it.redirect('redirected.io/x')).toBe('308 https://redirected.io/x');
    });

    test('a connection for another host does not help', async () => {
      await it.serve({ 'second.io/': 'web:80' }, { 'auth-tls-secret': 'ca' });
      for (const [name, pair, expected] of [
        ['open.io', undefined, 421],
        ['open.io', ann, 421],
        ['second.io', ann, 421],
        ['on.io', ann, 200],
        ['on.io', undefined, 400],
      ] as const) {
        const { status } = await askHttp2(session(name, pair), 'on.io/a');
        expect({ name, status }).toEqual({ name, status: expected });
      }
      const own = session('on.io', ann);
      expect((await askHttp2(own, 'open.io/')).status).toBe(200);
      const text = 'GET /a HTTP/1.1\r\nHost: on.io\r\nConnection: close\r\n\r\n';
      expect(statusOf(await askRaw(it.world.ports.https, text, { secure: true }))).toBe(421);
    });

    test.each(['TLSv1.2', 'TLSv1.3'] as const)(
      'a session of %s is not continued, and one of another host gives no access',
      async (version) => {
        const options = {
          ...{ port: it.world.ports.https, host: '127.0.0.1', rejectUnauthorized: false },
          ...{ minVersion: version, maxVersion: version },
        };
        /** Connects, sends a request, and returns its status and a session to continue. */
        const visit = (servername: string, pair: ClientKeyPair | undefined, before?: Buffer) =>
          new Promise<{ status: number; session: Buffer | undefined; isContinued: boolean }>(
            (resolve, reject) => {
              let kept: Buffer | undefined;
              let received = '';
              let isContinued = false;
              const socket = connectTls({ ...options, ...pair, servername, session: before });
              socket.once('secureConnect', () => {
                isContinued = socket.isSessionReused();
              });
              socket.on('session', (given: Buffer) => {
                kept = given;
              });
              socket.on('data', (chunk: Buffer) => {
                received += chunk.toString('latin1');
              });
              socket.once('error', reject);
              socket.once('close', () =>
                resolve({
                  status: statusOf(received),
                  session: kept,
                  isContinued,
                }),
              );
              socket.write(`GET /a HTTP/1.1\r\nHost: ${servername}\r\nConnection: close\r\n\r\n`);
            },
          );
        const first = await visit('on.io', ann);
        expect(first.status).toBe(200);
        const again = await visit('on.io', ann, first.session);
        expect(again).toMatchObject({ status: 200, isContinued: false });
        expect((await visit('on.io', undefined, first.session)).status).not.toBe(200);
        const open = await visit('open.io', ann);
        expect((await visit('on.io', undefined, open.session)).status).not.toBe(200);
      },
    );

    test('endpoints get the name of the client, and only the router can set it', async () => {
      const headers = {
        'ssl-client-verify': 'SUCCESS',
        'ssl-client-subject-dn': 'CN=root',
        'SSL-Client-Cert': 'x',
      };
      const { echo } = await it.world.askSecurely('on.io/a', { ...as(ann), headers });
      expect(echo.headers['ssl-client-verify']).toBe('SUCCESS');
      expect(echo.headers['ssl-client-subject-dn']).toBe('CN=ann,O=Shop');
      expect(echo.headers['ssl-client-issuer-dn']).toBe('CN=authority');
      expect(echo.headers['ssl-client-cert']).toBe(undefined);
      const open = await it.world.askSecurely('open.io/', { ...as(ann), headers });
      expect(Object.keys(open.echo.headers).filter((name) => name.startsWith('ssl-'))).toEqual([]);
      const special = await authority.issue('/O=Café, Söhne \\+ Co/CN=a=b');
      const other = await it.world.askSecurely('on.io/a', as(special));
      expect(other.echo.headers['ssl-client-subject-dn']).toBe('CN=a=b,O=Caf\\C3\\A9\\, S\\C3\\B6hne \\+ Co');
    });

    test('endpoints get the certificate if an annotation asks for it', async () => {
      const annotations = { 'auth-tls-secret': 'ca', 'auth-tls-pass-certificate-to-upstream': 'true' };
      await it.serve({ 'pass.io/': 'web:80' }, annotations);
      const { echo } = await it.world.askSecurely('pass.io/', as(ann));
      expect(decodeURIComponent(`${echo.headers['ssl-client-cert']}`)).toBe(ann.cert);
    });

    test.each([
      ['optional', ['web NONE', 'web SUCCESS', 400, 400, 400, 400]],
      [
        'optional_no_ca',
        ['web NONE', 'web SUCCESS', 'web FAILED:unable to verify the first certificate', 400, 400, 400],
      ],
      ['off', ['web NONE', 'web NONE', 'web NONE', 'web NONE', 'web NONE', 'web NONE']],
      ['on', [400, 'web SUCCESS', 400, 400, 400, 400]],
    ])('verify-client: %s', async (verify, expected) => {
      const host = `${verify.replaceAll('_', '-')}.verify.io`;
      await it.serve(
        { [`${host}/`]: 'web:80' },
        { 'auth-tls-secret': 'ca', 'auth-tls-verify-client': verify },
      );
      const answers: (string | number)[] = [];
      for (const pair of [undefined, ann, stranger, expired, server, late]) {
        const { status, echo } = await it.world
          .askSecurely(`${host}/`, as(pair))
          .then((answer) => (answer.status === 200 ? answer : { status: answer.status, echo: undefined }));
        answers.push(echo === undefined ? status : `${echo.backend} ${echo.headers['ssl-client-verify']}`);
      }
      expect(answers).toEqual(expected);
    });

    test('the number of authorities between a certificate and the root is limited', async () => {
      await it.serve({ 'zero.io/': 'web:80' }, { 'auth-tls-secret': 'ca', 'auth-tls-verify-depth': '0' });
      expect(await answerTo('zero.io/', ann)).toBe('web');
      expect(await answerTo('zero.io/', chained)).toBe(400);
    });

    test('a certificate that imitates an authority does not shorten the chain', async () => {
      await it.serve({ 'short.io/': 'web:80' }, { 'auth-tls-secret': 'ca', 'auth-tls-verify-depth': '0' });
      // OpenSSL ignores it, because it has expired. It seems to have issued the certificate, and itself.
      const imitation = await ClientAuthority.create('between', undefined, { days: -1 });
      const cert = carl.cert + imitation.certificate + between.certificate;
      imitation.end();
      expect(await answerTo('short.io/', { ...carl, cert })).toBe(400);
    });

    test('a certificate without a subject harms no other client', async () => {
      const nameless = await authority.issue('/');
      const { echo } = await it.world.askSecurely('on.io/a', as(nameless));
      expect(echo.headers['ssl-client-subject-dn']).toBe(undefined);
      const unknown = await foreign.issue('/');
      expect(await answerTo('on.io/a', unknown)).toBe(400);
      expect(await answerTo('on.io/a', ann)).toBe('web');
    });

    test('clients without a valid certificate are redirected to the error page', async () => {
      const page = 'https://help.io/certificates?from=$host';
      await it.serve({ 'page.io/': 'web:80' }, { 'auth-tls-secret': 'ca', 'auth-tls-error-page': page });
      for (const pair of [undefined, stranger]) {
        const { status, headers } = await it.world.askSecurely('page.io/', as(pair));
        expect([status, headers.location]).toEqual([302, 'https://help.io/certificates?from=page.io']);
      }
      expect(await answerTo('page.io/', ann)).toBe('web');
    });

    test('the common name must match, and no other part of the subject', async () => {
      await it.serve(
        { 'cn.io/': 'web:80' },
        { 'auth-tls-secret': 'ca', 'auth-tls-match-cn': 'CN=(ann|eve)' },
      );
      expect(await answerTo('cn.io/', ann)).toBe('web');
      expect(await answerTo('cn.io/', bob)).toBe(403);
      // To compare each of many names with all that follows takes too long.
      const many = await authority.issue(`${'/CN=x'.repeat(1000)}/CN=ann`);
      expect(await answerTo('cn.io/', many)).toBe(403);
      expect(await answerTo('cn.io/')).toBe(400);
    });

    test('revoked certificates are refused, and a change of the Secret applies to open connections', async () => {
      const put = async (data: Record<string, string>): Promise<void> => {
        it.cluster.put('Secret', secretOf('changing', data));
        await it.cluster.serve();
      };
      await it.serve({ 'changing.io/': 'web:80' }, { 'auth-tls-secret': 'changing' });
      expect(await answerTo('changing.io/', ann)).toBe(503);
      await put({ 'ca.crt': authority.certificate });
      expect(await answerTo('changing.io/', ann)).toBe('web');
      const open = session('changing.io', ann);
      expect((await askHttp2(open, 'changing.io/')).status).toBe(200);
      await put({ 'ca.crt': authority.certificate, 'ca.crl': await authority.revoked(ann.name) });
      expect((await askHttp2(open, 'changing.io/')).status).toBeGreaterThanOrEqual(400);
      expect(await answerTo('changing.io/', ann)).toBe(400);
      expect(await answerTo('changing.io/', bob)).toBe('web');
      await put({ 'ca.crt': foreign.certificate });
      expect(await answerTo('changing.io/', ann)).toBe(400);
      expect(await answerTo('changing.io/', stranger)).toBe('web');
      for (const wrong of [
        { 'ca.crt': 'x' },
        { ca: authority.certificate },
        { 'ca.crt': authority.certificate, 'ca.crl': 'x' },
        { 'ca.crt': ann.key },
      ]) {
        await put(wrong as unknown as Record<string, string>);
        expect(await answerTo('changing.io/', ann)).toBe(503);
      }
      it.cluster.remove('Secret', 'shop/changing');
      await it.cluster.serve();
      expect(await answerTo('changing.io/', ann)).toBe(503);
    });

    test.each([
      [{ 'auth-tls-secret': 'evil/ca' }],
      [{ 'auth-tls-secret': '' }],
      [{ 'auth-tls-match-cn': 'CN=ann' }],
      [{ 'auth-tls-verify-client': 'on' }],
      [{ 'auth-tls-secret': 'ca', 'auth-tls-verify-client': 'of' }],
      [{ 'auth-tls-secret': 'ca', 'auth-tls-verify-depth': '-1' }],
      [{ 'auth-tls-secret': 'ca', 'auth-tls-match-cn': 'ann' }],
      [{ 'auth-tls-secret': 'ca', 'auth-tls-match-cn': 'CN=(' }],
      [{ 'auth-tls-secret': 'ca', 'auth-tls-error-page': 'javascript:x' }],
      [{ 'auth-tls-secret': 'ca', 'auth-tls-pass-certificate-to-upstream': 'x' }],
    ])('%j closes the host', async (annotations: Record<string, string>) => {
      const host = `bad${Buffer.from(JSON.stringify(annotations)).toString('hex').slice(-40)}.io`;
      await it.serve({ [`${host}/a`]: 'web:80' }, annotations);
      await it.serve({ [`${host}/`]: 'other:80' });
      for (const path of ['/a', '//a', '/']) expect(await answerTo(host + path, ann)).toBe(503);
    });
  });
}
