import type { Clock, Logger } from '@tidegate/kube';
import { type Addresses, nameOf, usersOf } from './peer.ts';

/** A tick in which connections are looked up together: each look-up reads a list of all connections of the machine. */
const LOOK_UP_MS = 100;

export interface LocalUsersOptions {
  /** The user that has opened each of these connections, by name of the connection. Omits those that it does not find. */
  usersOf?: ((connections: readonly Addresses[]) => Promise<ReadonlyMap<string, string>>) | undefined;
  clock: Pick<Clock, 'after'>;
  log: Logger;
}

interface Wanted {
  readonly addresses: Addresses;
  readonly found: (user: string | undefined) => void;
}

/** Finds the users that have opened local connections. All connections that wait at the same time share one look-up. */
export class LocalUsers {
  readonly #options: LocalUsersOptions;
  #wanted: Wanted[] = [];
  #cancel: (() => void) | undefined;
  #isReading = false;
  #isOver = false;

  constructor(options: LocalUsersOptions) {
    this.#options = options;
  }

  /** Undefined if the list of the kernel does not contain the connection, for example because the client has closed it. */
  find(addresses: Addresses): Promise<string | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    return new Promise((found) => {
      this.#wanted.push({ addresses, found });
      this.#lookUpSoon();
    });
  }

  close(): void {
    this.#isOver = true;
    this.#cancel?.();
    for (const { found } of this.#wanted.splice(0)) found(undefined);
  }

  #lookUpSoon(): void {
    if (this.#cancel !== undefined || this.#isReading || this.#isOver || this.#wanted.length === 0) return;
    this.#cancel = this.#options.clock.after(LOOK_UP_MS, () => {
      this.#cancel = undefined;
      void this.#lookUp();
    });
  }

  async #lookUp(): Promise<void> {
    const wanted = this.#wanted.splice(0);
    this.#isReading = true;
    const users = await this.#read(wanted.map(({ addresses }) => addresses));
    this.#isReading = false;
    for (const { addresses, found } of wanted) found(users.get(nameOf(addresses)));
    this.#lookUpSoon();
  }

  async #read(connections: readonly Addresses[]): Promise<ReadonlyMap<string, string>> {
    try {
      return await (this.#options.usersOf ?? usersOf)(connections);
    } catch (err) {
      this.#options.log.warn(
        { err },
        'cannot find the users of local connections; their connections count as those of one user',
      );
      return new Map();
    }
  }
}
