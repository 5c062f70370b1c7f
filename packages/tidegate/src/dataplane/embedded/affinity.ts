import { type Affinity, cookieOf, endpointKey, setCookie } from '../../ingress/policy/index.ts';
import type { Exchange } from './exchange.ts';
import type { Member, Members } from './members.ts';

/** Keeps a client at an endpoint. `affinity.lua` does the same for nginx. */
export class Stickiness {
  readonly #own: Affinity;
  readonly #exchange: Exchange;
  readonly #members: Members;
  /** The endpoint that the cookie of the client names. */
  readonly #wanted: Member | undefined;

  /** Undefined if the route does not ask for it. */
  static of(exchange: Exchange, members: Members): Stickiness | undefined {
    const own = exchange.matched?.action.policy?.affinity;
    return own && new Stickiness(own, exchange, members);
  }

  private constructor(own: Affinity, exchange: Exchange, members: Members) {
    this.#own = own;
    this.#exchange = exchange;
    this.#members = members;
    this.#wanted = wantedOf(own, exchange, members);
  }

  /** The endpoint to try first. Undefined if any is fine. */
  first(now: number): Member | undefined {
    return this.#wanted !== undefined && this.#wanted.downUntil <= now ? this.#wanted : undefined;
  }

  /** Notes which endpoint has answered. */
  answered({ name }: Member): void {
    const { request, secure, matched } = this.#exchange;
    this.#exchange.cookie = undefined;
    // An endpoint that did not answer may do so again.
    if (this.#wanted !== undefined && (this.#wanted.name === name || !this.#own.changesOnFailure)) return;
    const { namespace, service } = this.#members.upstream;
    const route = matched?.route;
    this.#exchange.cookie = setCookie(this.#own, endpointKey(`${namespace}/${service}`, name), {
      route: route === undefined || route.match === 'Regex' ? undefined : route.path,
      secure,
      userAgent: request.headers['user-agent'],
      now: Date.now(),
    });
  }
}

/** The endpoint that the cookie of the client names. */
export const wantedOf = (own: Affinity, { request }: Exchange, members: Members): Member | undefined =>
  members.withKey(cookieOf(request.headers.cookie, own.name) ?? '');
