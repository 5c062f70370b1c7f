import type { Connections, Credential } from '@tidegate/kube';
import { Dispatcher } from '@tidegate/kube/undici';
import type { Dispatcher as Undici } from 'undici';
import { FailoverExchange, type FailoverOptions } from './failover.ts';

type Routing = Pick<FailoverOptions, 'choose' | 'onFailover'>;

/**
 * The requests of one client. Connections are shared with other clients; closing a lane ends only the
 * requests of its own client.
 */
export class Lane implements Connections {
  readonly #routing: Routing;
  readonly #open = new Set<FailoverExchange>();
  /** Connections depend on the credential, because a client certificate belongs to the connection. */
  readonly #dispatchers = new WeakMap<Credential, Dispatcher>();
  #closed = false;

  constructor(routing: Routing) {
    this.#routing = routing;
  }

  for(credential: Credential): Dispatcher {
    const known = this.#dispatchers.get(credential);
    if (known !== undefined) return known;
    const dispatcher = this.#dispatcher(credential);
    this.#dispatchers.set(credential, dispatcher);
    return dispatcher;
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const exchange of this.#open) exchange.abort(new Error('the client was closed'));
  }

  #dispatcher(credential: Credential): Dispatcher {
    const dispatcher = new LaneDispatcher((dispatch, handler) =>
      this.#exchange(dispatch, handler, credential),
    );
    // undici has two generations of handlers. `compose`, even with the identity function, converts them to
    // the newer one.
    return dispatcher.compose((dispatch) => dispatch);
  }

  #exchange(dispatch: Undici.DispatchOptions, handler: Undici.DispatchHandler, credential: Credential): void {
    const exchange: FailoverExchange = new FailoverExchange({
      ...this.#routing,
      dispatch,
      handler,
      credential,
      onOver: () => this.#open.delete(exchange),
    });
    this.#open.add(exchange);
    exchange.start();
    if (this.#closed) exchange.abort(new Error('the client was closed'));
  }
}

/** Turns a function into a Dispatcher. */
class LaneDispatcher extends Dispatcher {
  readonly #send: (options: Undici.DispatchOptions, handler: Undici.DispatchHandler) => void;

  constructor(send: (options: Undici.DispatchOptions, handler: Undici.DispatchHandler) => void) {
    super();
    this.#send = send;
  }

  override dispatch(options: Undici.DispatchOptions, handler: Undici.DispatchHandler): boolean {
    this.#send(options, handler);
    return true;
  }
}
