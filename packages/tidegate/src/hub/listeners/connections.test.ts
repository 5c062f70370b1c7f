import { EventEmitter, once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { Metrics, silentLogger } from '@tidegate/kube';
import { VirtualClock } from '@tidegate/kube/testing';
import { describe, expect, it } from 'vitest';
import { Connections } from './connections.ts';
import { type Addresses, nameOf, usersIn, usersOf } from './peer.ts';

const HUB = { localAddress: '169.254.2.1', localPort: 10268 };

/** A connection without a network. */
class FakeSocket extends EventEmitter {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly localAddress = HUB.localAddress;
  readonly localPort = HUB.localPort;
  isOpen = true;

  constructor(remoteAddress: string, remotePort: number) {
    super();
    this.remoteAddress = remoteAddress;
    this.remotePort = remotePort;
  }

  destroy(): void {
    this.isOpen = false;
    this.emit('close');
  }
}

class World {
  readonly clock = new VirtualClock();
  /** Users by port. */
  readonly users = new Map<number, string>();
  lookUps = 0;
  readonly connections = new Connections({
    limits: { perPeer: 4, perTenant: 6, total: 12 },
    usersOf: async (asked) => {
      this.lookUps++;
      return new Map(asked.map((each) => [nameOf(each), this.users.get(each.remotePort) ?? '0'] as const));
    },
    metrics: new Metrics({ prefix: '' }),
    clock: this.clock,
    log: silentLogger,
  });
  #port = 1000;

  open(address: string, count = 1, user?: string): FakeSocket[] {
    return Array.from({ length: count }, () => {
      const socket = new FakeSocket(address, ++this.#port);
      if (user !== undefined) this.users.set(socket.remotePort, user);
      this.connections.add(socket as unknown as Socket);
      return socket;
    });
  }

  peerOf(socket: FakeSocket): Promise<string> {
    return this.connections.peerOf(socket as unknown as Socket);
  }

  authenticate(sockets: FakeSocket[], owner: 'node' | { tenant: string }): boolean[] {
    return sockets.map((socket) => this.connections.authenticated(socket as unknown as Socket, owner));
  }
}

const open = (sockets: FakeSocket[]): number => sockets.filter(({ isOpen }) => isOpen).length;
const POD = '10.1.0.7';

describe('connections without valid credentials', () => {
  it('are limited for each address: the oldest is closed', () => {
    const world = new World();
    const others = world.open('10.1.0.8', 3);
    const flood = world.open(POD, 20);
    expect(flood.map(({ isOpen }) => isOpen).lastIndexOf(false)).toBe(15);
    expect(open(flood)).toBe(4);
    expect(open(others)).toBe(3);
  });

  it('are limited for each user of this machine', async () => {
    const world = new World();
    world.open(HUB.localAddress, 3, '1000');
    const [other] = world.open('127.0.0.1', 1, '0');
    await world.clock.advance(100);
    const flood = world.open(HUB.localAddress, 3, '1000');
    await world.clock.advance(100);
    expect(other?.isOpen).toBe(true);
    expect(open(flood)).toBe(3);
    const more = world.open('127.0.0.1', 3, '0');
    await world.clock.advance(100);
    expect(open([...more, other!])).toBe(4);
  });

  it('of a user are not closed because another user opens many before their users are known', async () => {
    const world = new World();
    const [victim] = world.open('127.0.0.1', 1, '1000');
    const flood = world.open('127.0.0.1', 40, '65534');
    expect(victim?.isOpen).toBe(true);
    expect(open(flood)).toBeLessThan(12);
    await world.clock.advance(100);
    expect(victim?.isOpen).toBe(true);
    expect(open(flood)).toBeLessThanOrEqual(4);
  });

  it('make place when they are closed', () => {
    const world = new World();
    const [first] = world.open(POD, 4);
    first?.destroy();
    const [last] = world.open(POD, 1);
    expect(last?.isOpen).toBe(true);
    expect(open(world.open(POD, 1))).toBe(1);
  });
});

describe('authenticated connections', () => {
  it('of the node have no limit, and never make place for others', () => {
    const world = new World();
    const kubelet: FakeSocket[] = [];
    for (let i = 0; i < 30; i++) {
      const [socket] = world.open('127.0.0.1', 1);
      world.authenticate([socket!], 'node');
      kubelet.push(socket!);
    }
    world.open('127.0.0.1', 50);
    for (let i = 0; i < 20; i++) world.open(`10.1.0.${i}`, 4);
    expect(open(kubelet)).toBe(30);
  });

  it('stay open although the same peer opens many more', () => {
    const world = new World();
    const sockets = world.open(POD, 3);
    world.authenticate(sockets, { tenant: 'namespace shop' });
    world.open(POD, 20);
    expect(open(sockets)).toBe(3);
  });

  it('are limited for each tenant', () => {
    const world = new World();
    const flood = [0, 1].flatMap((at) => world.open(`10.1.0.${at}`, 4));
    expect(world.authenticate(flood, { tenant: 'namespace greedy' })).toEqual([
      ...Array.from({ length: 6 }, () => true),
      ...[false, false],
    ]);
    expect(world.authenticate(world.open(POD, 1), { tenant: 'namespace modest' })).toEqual([true]);
    // A second request through a connection that is counted already.
    expect(world.authenticate(flood.slice(0, 1), { tenant: 'namespace greedy' })).toEqual([true]);
  });

  it('of the tenant with the most make place when all together are too many', () => {
    const world = new World();
    const modest = world.open(POD, 2);
    world.authenticate(modest, { tenant: 'namespace modest' });
    const greedy = [0, 1].flatMap((at) => world.open(`10.1.1.${at}`, 3));
    world.authenticate(greedy, { tenant: 'namespace greedy' });
    const others = Array.from({ length: 5 }, (_, at) => world.open(`10.1.2.${at}`, 1)).flat();
    expect(open(greedy)).toBe(5);
    expect(open([...modest, ...others])).toBe(7);
  });
});

describe('the peer of a connection', () => {
  it('is the user of a local one, also if there are few, and the address of another', async () => {
    const world = new World();
    const [anna] = world.open('127.0.0.1', 1, '1000');
    const [bert] = world.open('127.0.0.2', 1, '1001');
    const [pod] = world.open(POD);
    const peers = Promise.all([anna!, bert!, anna!, pod!].map((socket) => world.peerOf(socket)));
    await world.clock.advance(100);
    expect(await peers).toEqual(['user 1000', 'user 1001', 'user 1000', `address ${POD}`]);
    expect(world.lookUps).toBe(1);
  });

  it('stays the same when the connection has authenticated', async () => {
    const world = new World();
    const [anna] = world.open('127.0.0.1', 1, '1000');
    const [pod] = world.open(POD);
    world.authenticate([anna!, pod!], { tenant: 'namespace shop' });
    const peers = Promise.all([anna!, pod!].map((socket) => world.peerOf(socket)));
    await world.clock.advance(100);
    expect(await peers).toEqual(['user 1000', `address ${POD}`]);
    expect(open(world.open(POD, 5))).toBe(4);
  });

  it('costs one look-up for all connections of a tenth of a second', async () => {
    const world = new World();
    const ask = (): Promise<string> => world.peerOf(world.open('127.0.0.1', 1, '1000')[0]!);
    const first = ask();
    await world.clock.advance(99);
    const others = Promise.all(Array.from({ length: 3 }, ask));
    expect(world.lookUps).toBe(0);
    await world.clock.advance(1);
    expect(await Promise.all([first, others])).toEqual(['user 1000', Array(3).fill('user 1000')]);
    expect(world.lookUps).toBe(1);
  });
});

it('does not look up users after it was closed', async () => {
  const world = new World();
  const sockets = world.open('127.0.0.1', 3, '1000');
  world.connections.close();
  await world.clock.advance(1000);
  expect(await world.peerOf(sockets[0]!)).toBe('user unknown');
});

describe('the user of a local connection', () => {
  it('is that of this process', async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const accepted = once(server, 'connection') as Promise<[Socket]>;
    const address = server.address() as { port: number };
    const client = connect(address.port, '127.0.0.1');
    const [socket] = await accepted;
    const connection = socket as unknown as Addresses;
    const users = await usersOf([connection]);
    expect(users).toEqual(new Map([[nameOf(connection), String(process.getuid?.())]]));
    client.destroy();
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('is read from both lists of the kernel', () => {
    const text = [
      '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode',
      '   0: 0100007F:9C40 0100007F:2815 01 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 20 4 30 10 -1',
      '   1: 0000000000000000FFFF00000100007F:9C41 0000000000000000FFFF00000100007F:2815 01 0:0 00:0 0  33  0 2 1 0',
      '   2: 00000000000000000000000001000000:9C42 00000000000000000000000001000000:2815 01 0:0 00:0 0  7  0 3 1 0',
      '   3: nonsense',
      '   4: 0100007F:9C43 0100007F:2815 05 00000000:00000000 00:00000000 00000000  0        0 0 1 0 20 4 30 10 -1',
    ].join('\n');
    expect([...usersIn(text)].map(({ connection, user }) => [nameOf(connection), user])).toEqual([
      ['127.0.0.1 40000 127.0.0.1 10261', '1000'],
      ['127.0.0.1 40001 127.0.0.1 10261', '33'],
      ['::1 40002 ::1 10261', '7'],
    ]);
  });
});
