import { chmod, mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { createServer, request as plainRequest } from 'node:http';
import { Agent, type RequestOptions, request as secureRequest } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { DurableMap } from '@tidegate/disk';
import { fixedCredential, KubeClient, silentLogger, systemClock } from '@tidegate/kube';
import type { KeyPair } from '@tidegate/kube/certificates';
import { VirtualClock } from '@tidegate/kube/testing';
import { ApiError } from '@tidegate/serving';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { finish } from '../../../../../test/support/process.ts';
import { TestAuthority } from '../certificates/testing/authority.ts';
import { Authenticator } from '../identity/authenticator.ts';
import type { RequestHandler, UpgradeHandler } from './listener.ts';
import { Listeners, type ListenersOptions } from './listeners.ts';

const authority = new TestAuthority();
const newServing = (): KeyPair =>
  authority.issue({ commonName: 'system:node:n1', names: ['localhost', '127.0.0.1', '127.0.0.2', '::1'] });
const newClient = (commonName: string, organizations = ['system:nodes'], by = authority): KeyPair =>
  by.issue({ commonName, organizations, usage: 'clientAuth' });

let directory: string;
let listeners: Listeners;
let clock: VirtualClock;
let certificate: { current: KeyPair | undefined; onChange(listener: (pair: KeyPair) => void): () => void };
let rotate: (pair: KeyPair) => void;
let handle: RequestHandler;
let upgrade: UpgradeHandler;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tidegate-hub-'));
  clock = new VirtualClock();
  const subscribers = new Set<(pair: KeyPair) => void>();
  certificate = {
    current: newServing(),
    onChange: (listener) => {
      subscribers.add(listener);
      return () => subscribers.delete(listener);
    },
  };
  rotate = (pair) => {
    for (const listener of subscribers) listener(pair);
  };
  handle = (_, response) => response.end('ok');
  upgrade = (_, socket) => socket.destroy();
});
afterEach(async () => {
  await listeners?.close();
  await rm(directory, { recursive: true });
});

const socketFile = (): string => join(directory, 'run', 'hub.sock');
const adminSocketFile = (): string => join(directory, 'run', 'admin.sock');
async function open(options: Partial<ListenersOptions> = {}): Promise<void> {
  listeners = await Listeners.open(
    {
      bindAddress: '127.0.0.1',
      hubAddress: '127.0.0.2',
      httpPort: 0,
      httpsPort: 0,
      adminPort: 0,
      socket: socketFile(),
      adminSocket: adminSocketFile(),
      certificate,
      clientCa: authority.ca,
      connections: { add: () => {} },
      clock,
      log: silentLogger,
      ...options,
    },
    {
      request: (request, response, entrance) => handle(request, response, entrance),
      upgrade: (request, socket, head, entrance) => upgrade(request, socket, head, entrance),
      admin: (_, response) => response.end('admin'),
      adminDetails: (_, response) => response.end('details'),
    },
  );
}

function get(
  where: { port?: number; host?: string; socketPath?: string; secure?: boolean; pair?: KeyPair },
  options: RequestOptions = {},
): Promise<{ code: number; body: string; socket: Socket }> {
  return new Promise((resolve, reject) => {
    const { host = '127.0.0.1', port, socketPath, secure = false, pair } = where;
    const make = secure ? secureRequest : plainRequest;
    const tls = secure ? { ca: authority.ca, cert: pair?.certificate, key: pair?.key } : {};
    const request = make({ host, port, socketPath, agent: false, ...tls, ...options }, async (response) => {
      const { socket } = response;
      let body = '';
      for await (const chunk of response) body += chunk;
      resolve({ code: response.statusCode ?? 0, body, socket });
    });
    request.on('error', reject);
    request.end();
  });
}

describe('a client', () => {
  let memory: DurableMap;
  let client: KubeClient;

  beforeEach(async () => {
    memory = await DurableMap.open(join(directory, 'identity'));
    client = new KubeClient({
      server: 'http://127.0.0.1:1',
      namespace: 'default',
      credentials: fixedCredential({}),
    });
    const authenticator = await Authenticator.open({
      peerOf: async () => 'local',
      nodeName: 'n1',
      client,
      memory,
      online: () => true,
      lastContact: () => undefined,
      onEnded: () => {},
      podIsGone: async () => false,
      clock: systemClock,
      log: silentLogger,
    });
    handle = (request, response, entrance) => {
      authenticator.authenticate(request, entrance).then(
        ({ kind }) => response.end(`${entrance.name} ${kind}`),
        (error: unknown) => {
          if (!(error instanceof ApiError)) throw error;
          response.writeHead(error.status.code).end(error.message);
        },
      );
    };
    await open();
  });
  afterEach(async () => {
    await client.close();
    await memory.close();
  });

  it.each(['curl/8', 'kubelet/v1.36.4', 'kube-proxy/v1.36.4'])(
    'without credentials is anonymous on every listener except the socket, also with User-Agent %s',
    async (agent) => {
      const { http, https, hubHttps } = listeners.ports;
      const headers = { 'user-agent': agent };
      const bodies = [
        await get({ port: http }, { headers }),
        await get({ port: https, secure: true }, { headers }),
        await get({ port: hubHttps, host: '127.0.0.2', secure: true }, { headers }),
        await get({ socketPath: socketFile() }, { headers }),
      ].map(({ body }) => body);
      expect(bodies).toEqual(['http anonymous', 'https anonymous', 'https anonymous', 'socket node']);
    },
  );

  const withCertificate = (pair: KeyPair): Promise<{ code: number; body: string }> =>
    get({ port: listeners.ports.https, secure: true, pair });

  it('with the client certificate of the node is the node', async () => {
    expect(await withCertificate(newClient('system:node:n1'))).toMatchObject({
      code: 200,
      body: 'https node',
    });
  });

  it.each<[string, string, string[]]>([
    ['of another node', 'system:node:n2', ['system:nodes']],
    ['of an administrator', 'admin', ['system:masters']],
    ['with the name of the node but not its group', 'system:node:n1', []],
  ])('with a certificate %s is rejected with 403', async (_, commonName, organizations) => {
    const answer = await withCertificate(newClient(commonName, organizations));
    expect(answer).toMatchObject({ code: 403 });
    expect(answer.body).toMatch(/cannot forward a client certificate .* must use a bearer token/);
  });

  it.each<[string, KeyPair, string]>([
    ['as the node', newClient('system:node:n1'), 'https node'],
    [
      'with a certificate of another CA',
      newClient('system:node:n1', ['system:nodes'], new TestAuthority()),
      'Unauthorized',
    ],
  ])('is authenticated %s again when it resumes a TLS session', async (_, pair, expected) => {
    const agent = new Agent({ keepAlive: false });
    const where = { port: listeners.ports.https, secure: true, pair };
    const answers = [await get(where, { agent }), await get(where, { agent })];
    expect(answers.map(({ body }) => body)).toEqual([expected, expected]);
    expect((answers[1]!.socket as TLSSocket).isSessionReused()).toBe(true);
    agent.destroy();
  });

  it('with an invalid certificate is rejected with 401', async () => {
    const stranger = new TestAuthority();
    const expired = authority.issue({
      commonName: 'system:node:n1',
      organizations: ['system:nodes'],
      usage: 'clientAuth',
      notAfter: Date.UTC(2021, 0, 1),
    });
    const serving = authority.issue({ commonName: 'system:node:n1', organizations: ['system:nodes'] });
    for (const pair of [newClient('system:node:n1', ['system:nodes'], stranger), expired, serving])
      expect(await withCertificate(pair)).toMatchObject({ code: 401, body: 'Unauthorized' });
  });
});

describe('HTTPS', () => {
  it('has no fallback while there is no certificate', async () => {
    certificate.current = undefined;
    await open();
    const where = { port: listeners.ports.https, secure: true };
    await expect(get(where, { rejectUnauthorized: false })).rejects.toThrow(/handshake failure/);
    expect((await get({ port: listeners.ports.http })).body).toBe('ok');
    rotate(newServing());
    expect((await get(where)).body).toBe('ok');
  });

  it('uses a new certificate for new connections, and keeps open connections', async () => {
    await open();
    const agent = new Agent({ keepAlive: true, maxSockets: 1, maxCachedSessions: 0 });
    const where = { port: listeners.ports.https, secure: true };
    const shown = (socket: Socket): string => (socket as TLSSocket).getPeerCertificate().serialNumber;
    const first = await get(where, { agent });
    const serial = shown(first.socket);
    rotate(newServing());
    const again = await get(where, { agent });
    expect(again.socket).toBe(first.socket);
    expect(shown((await get(where)).socket)).not.toBe(serial);
    agent.destroy();
  });

  it('works with IPv6, and opens one listener if hub and bind address are equal', async () => {
    await open({ bindAddress: '::1', hubAddress: '::1' });
    const { https, hubHttps } = listeners.ports;
    expect(hubHttps).toBe(https);
    expect((await get({ host: '::1', port: https, secure: true })).body).toBe('ok');
  });
});

describe('open', () => {
  it('serves the admin port', async () => {
    await open();
    expect((await get({ port: listeners.ports.admin })).body).toBe('admin');
  });

  it('names the address and the flag of a port that is in use, and closes all other listeners', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    for (const [option, flag] of [
      ['httpPort', '--http-port'],
      ['httpsPort', '--https-port'],
      ['adminPort', '--admin-port'],
    ] as const)
      await expect(open({ [option]: port })).rejects.toThrow(
        `127.0.0.1:${port} is in use by another program; choose another port with ${flag}`,
      );
    other.close();
    await open({ httpPort: port });
  });

  it('names the flag of an address that the host does not have', async () => {
    await expect(open({ bindAddress: '192.0.2.1' })).rejects.toThrow(
      '192.0.2.1 is not an address of this host; choose another with --bind-address',
    );
  });

  it('creates a socket that other users cannot open', async () => {
    await open();
    expect((await stat(socketFile())).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, 'run'))).mode & 0o777).toBe(0o700);
    await chmod(join(directory, 'run'), 0o711);
    await expect(open()).rejects.toThrow(/^other users can enter .*run, .* with --socket$/);
  });

  it('replaces the socket of a killed hub, but not of a running hub, and no other file', async () => {
    await open();
    const first = listeners;
    await expect(open()).rejects.toThrow(/^another hub listens on/);
    await first.close();
    await mkdir(join(directory, 'run'), { recursive: true });
    await writeFile(socketFile(), 'x');
    await expect(open()).rejects.toThrow(/exists and is not a socket/);
    await rm(socketFile());
    await leaveSocket(socketFile());
    await open();
    expect((await get({ socketPath: socketFile() })).body).toBe('ok');
  });
});

describe('close', () => {
  it('lets open requests complete, and closes idle connections', async () => {
    let answer = (): void => {};
    const arrived = new Promise<void>((resolve) => {
      handle = (_, response) => {
        answer = () => response.end('late');
        resolve();
      };
    });
    await open();
    const agent = new Agent({ keepAlive: true });
    const late = get({ port: listeners.ports.https, secure: true }, { agent });
    await arrived;
    const closed = listeners.close();
    await expect(get({ port: listeners.ports.http })).rejects.toThrow('ECONNREFUSED');
    answer();
    expect((await late).body).toBe('late');
    await closed;
    expect(clock.pending).toBe(0);
    agent.destroy();
  });

  it('closes requests and upgraded connections that do not end within five seconds', async () => {
    const arrived = new Promise<void>((resolve) => {
      handle = () => resolve();
    });
    const upgraded = new Promise<void>((resolve) => {
      upgrade = (_, socket) => {
        socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
        resolve();
      };
    });
    await open();
    const hanging = get({ port: listeners.ports.http });
    const tunnel = connect(listeners.ports.http, '127.0.0.1');
    tunnel.write('GET / HTTP/1.1\r\nhost: x\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n');
    const tunnelEnded = new Promise((resolve) => tunnel.once('close', resolve));
    tunnel.resume().on('error', () => {});
    await Promise.all([arrived, upgraded]);
    const closed = listeners.close();
    await clock.advance(4_999);
    expect(tunnel.destroyed).toBe(false);
    const cut = expect(hanging).rejects.toThrow('socket hang up');
    await clock.advance(1);
    await Promise.all([closed, cut, tunnelEnded]);
  });
});

/** Leaves a socket without a listener, as after kill -9. */
async function leaveSocket(path: string): Promise<void> {
  const script = `require('node:net').createServer().listen(${JSON.stringify(path)}, () => process.kill(process.pid, 'SIGKILL'))`;
  await finish([process.execPath, '-e', script]);
}
