import type { RouteTable } from '../../ingress/match/index.ts';
import { credentialsOf, decoyFor, ownerOf, PasswordChecker } from '../../ingress/passwords/index.ts';
import type { RoutePolicy } from '../../ingress/policy/index.ts';
import type { Exchange } from './exchange.ts';
import type { FlatHeaders } from './flat-headers.ts';
import { ownHeader } from './headers.ts';

/** The response to a client that is not served. */
export interface Denial {
  readonly status: number;
  readonly headers: FlatHeaders;
}

/** Asks clients for the name and password of a user. `authenticate.lua` does the same for nginx. */
export class Authenticator {
  readonly #passwords = new PasswordChecker(() => performance.now());

  /** Undefined if the client is a user. */
  async basic(
    { credentials: id, realm }: NonNullable<RoutePolicy['basic']>,
    { credentials }: RouteTable,
    { request }: Exchange,
  ): Promise<Denial | undefined> {
    const known = credentials.get(id);
    if (known === undefined) return { status: 503, headers: [] };
    const sent = credentialsOf(ownHeader(request, 'authorization'));
    const isDecoy = sent !== undefined && !Object.hasOwn(known.users, sent.name);
    const hash = sent && (isDecoy ? decoyFor(sent.name, known.users) : known.users[sent.name]);
    const verdict =
      sent === undefined || hash === undefined
        ? 'wrong'
        : await this.#passwords.check(ownerOf(id), { password: sent.password, hash, isDecoy });
    if (verdict === 'right') return undefined;
    if (verdict === 'busy') return { status: 503, headers: ['Retry-After', '1'] };
    return { status: 401, headers: ['WWW-Authenticate', `Basic realm="${realm}"`] };
  }
}
