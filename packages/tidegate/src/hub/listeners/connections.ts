import type { Socket } from 'node:net';
import type { Clock, Metrics } from '@tidegate/kube';
import { LocalUsers, type LocalUsersOptions } from './local-users.ts';
import { type Addresses, nameOf, OwnAddresses } from './peer.ts';

export interface ConnectionLimits {
  /** Connections of one peer that have not shown valid credentials: of an address, or of a user of this machine. */
  readonly perPeer: number;
  /** Connections of one tenant: of all service accounts of a namespace, or of one user. */
  readonly perTenant: number;
  /** Connections of all, without those of the node. */
  readonly total: number;
}

/** A router watches each of its Secrets with a connection of its own, so a client can need thousands. */
export const CONNECTION_LIMITS: ConnectionLimits = { perPeer: 1_000, perTenant: 5_000, total: 10_000 };

/** The owner of an authenticated connection. Connections of the node are not limited. */
export type Owner = 'node' | { readonly tenant: string };

interface Connection extends Addresses {
  readonly socket: Pick<Socket, 'destroy'>;
  /** The address, or the user of this machine, that has opened the connection. Of a local one, it is only known if asked for. */
  peer: Promise<string> | undefined;
  group: string;
}

/** Unproved connections of this machine, until there are so many that it matters which user has opened them. */
const LOCAL = 'local';
/** The peer behind the unix sockets, which only the user of the hub can open. */
const SOCKET = 'unix socket';
/** Clients that have disconnected before the hub could find their user. They share what one user may cause. */
const UNKNOWN = 'user unknown';

export interface ConnectionsOptions extends LocalUsersOptions {
  limits?: ConnectionLimits | undefined;
  metrics: Metrics;
  clock: Pick<Clock, 'after' | 'monotonic'>;
}

/**
 * Limits the connections to the hub, so that no client keeps others from connecting. A connection first belongs to its peer.
 * With the first request with valid credentials it belongs to the tenant, or to the node, whose connections have no limit: the
 * kubelet must get through although other programs of the same user open thousands of connections. A peer above its limit
 * loses the oldest connection that has not authenticated; a tenant gets no more; if all together are above the limit, the
 * group with the most loses its oldest connection.
 */
export class Connections {
  readonly #limits: ConnectionLimits;
  readonly #byName = new Map<string, Connection>();
  /** By group, the oldest first. The connections of the node are in no group. */
  readonly #groups = new Map<string, Set<Connection>>();
  /** Connections in the group LOCAL whose user was not asked for. */
  readonly #unasked = new Set<Connection>();
  readonly #users: LocalUsers;
  readonly #own: OwnAddresses;
  readonly #closed;
  #counted = 0;

  constructor(options: ConnectionsOptions) {
    this.#users = new LocalUsers(options);
    this.#own = new OwnAddresses(options.clock);
    this.#limits = options.limits ?? CONNECTION_LIMITS;
    const gauge = options.metrics.gauge('tidegate_hub_connections', {
      help: 'Open connections of clients that are limited: all but those of the node.',
    });
    options.metrics.onScrape(() => gauge.set({}, this.#counted));
    this.#closed = options.metrics.counter('tidegate_hub_connections_closed_total', {
      help: 'Connections that the hub closed because a peer, a tenant, or all clients together had too many.',
      labels: ['limit'],
    });
  }

  /** Call this for each connection that a port accepts. */
  add(socket: Socket): void {
    const connection = addressesOf(socket);
    // The client has disconnected already.
    if (connection === undefined) return;
    const name = nameOf(connection);
    const address = `address ${connection.remoteAddress}`;
    const added: Connection = this.#own.isLocal(connection)
      ? { ...connection, socket, peer: undefined, group: LOCAL }
      : { ...connection, socket, peer: Promise.resolve(address), group: address };
    this.#byName.set(name, added);
    this.#join(added, added.group);
    if (added.peer === undefined) this.#unasked.add(added);
    socket.once('close', () => {
      this.#leave(added);
      if (this.#byName.get(name) === added) this.#byName.delete(name);
    });
    this.#limitPeer(added.group);
    this.#limitAll();
    // As long as there are few local connections, the user that has opened them does not matter.
    const local = this.#groups.get(LOCAL)?.size ?? 0;
    if (local * 4 > this.#limits.perPeer) for (const each of this.#unasked) void this.#peerOf(each);
  }

  /**
   * The peer of a connection, for limits of what clients without valid credentials can cause. Of a local connection, it is the
   * user: all programs of the machine have the same addresses, and can choose among those of the loopback interface.
   */
  async peerOf(socket: Socket): Promise<string> {
    const addresses = addressesOf(socket);
    if (addresses === undefined) return socket.destroyed ? UNKNOWN : SOCKET;
    const connection = this.#byName.get(nameOf(addresses));
    return connection === undefined ? UNKNOWN : this.#peerOf(connection);
  }

  /**
   * Call this when a request with valid credentials has come through a connection. Returns false if its owner has too many: refuse
   * the request, and close the connection.
   */
  authenticated(socket: Socket, owner: Owner): boolean {
    const addresses = addressesOf(socket);
    const connection = addresses && this.#byName.get(nameOf(addresses));
    // A unix socket, which only the user of the hub can open.
    if (connection === undefined) return true;
    const group = owner === 'node' ? '' : `tenant ${owner.tenant}`;
    if (connection.group === group || connection.group === '') return true;
    const others = this.#groups.get(group)?.size ?? 0;
    if (group !== '' && others >= this.#limits.perTenant) {
      this.#closed.inc({ limit: 'tenant' });
      return false;
    }
    this.#leave(connection);
    if (group !== '') this.#join(connection, group);
    else connection.group = '';
    return true;
  }

  close(): void {
    this.#users.close();
  }

  #join(connection: Connection, group: string): void {
    connection.group = group;
    const members = this.#groups.get(group) ?? new Set();
    this.#groups.set(group, members.add(connection));
    this.#counted++;
  }

  /** Returns whether the connection was counted. */
  #leave(connection: Connection): boolean {
    this.#unasked.delete(connection);
    const members = this.#groups.get(connection.group);
    if (members?.delete(connection) !== true) return false;
    this.#counted--;
    if (members.size === 0) this.#groups.delete(connection.group);
    return true;
  }

  /** The user behind a local connection is not known at first: no user may close the connections of another. */
  #limitPeer(group: string): void {
    if (group === LOCAL) return;
    const members = this.#groups.get(group) ?? new Set();
    while (members.size > this.#limits.perPeer) this.#close(oldestOf(members), 'peer');
  }

  #limitAll(): void {
    while (this.#counted > this.#limits.total) {
      let most = new Set<Connection>();
      for (const members of this.#groups.values()) if (members.size > most.size) most = members;
      // Of those with an unknown user, the newest: they are the ones that come too fast to be looked up.
      this.#close(most === this.#groups.get(LOCAL) ? newestOf(most) : oldestOf(most), 'total');
    }
  }

  #close(connection: Connection | undefined, limit: string): void {
    if (connection === undefined) return;
    this.#leave(connection);
    this.#closed.inc({ limit });
    connection.socket.destroy();
  }

  #peerOf(connection: Connection): Promise<string> {
    this.#unasked.delete(connection);
    connection.peer ??= this.#users.find(connection).then((user) => {
      const peer = user === undefined ? UNKNOWN : `user ${user}`;
      if (connection.group === LOCAL && this.#leave(connection)) {
        this.#join(connection, peer);
        this.#limitPeer(peer);
      }
      return peer;
    });
    return connection.peer;
  }
}

const oldestOf = ([oldest]: ReadonlySet<Connection>): Connection | undefined => oldest;
const newestOf = (members: ReadonlySet<Connection>): Connection | undefined => [...members].at(-1);

/** The same for a TLS connection and the TCP connection below it. Undefined for unix sockets and closed connections. */
function addressesOf({ remoteAddress, remotePort, localAddress, localPort }: Socket): Addresses | undefined {
  if (remoteAddress === undefined || remotePort === undefined) return undefined;
  if (localAddress === undefined || localPort === undefined) return undefined;
  return { remoteAddress, remotePort, localAddress, localPort };
}
