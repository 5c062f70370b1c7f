import type { Identity } from '../identity/index.ts';
import { type Account, Allowance, type Holder, UNLIMITED } from '../shares/index.ts';
import type { Call } from './call.ts';

/** Bytes of responses that the hub has read, and that clients have not. */
const BUFFERED_BYTES = { perIdentity: 64 << 20, total: 256 << 20 };

/**
 * Limits the memory for responses that the hub reads as a whole, in order to store or filter them. A client that requests
 * large lists on many connections and does not read them would otherwise fill the memory of the hub. The node has no limit.
 */
export class AnswerShares {
  readonly #holderOf: (identityKey: string) => Holder;
  readonly #buffered = new Allowance(BUFFERED_BYTES);

  constructor(holderOf: (identityKey: string) => Holder) {
    this.#holderOf = holderOf;
  }

  /** What is buffered for this call. Its client has read it, or has left, when the response is closed. */
  account({ identity, exchange: { response } }: Pick<Call, 'identity' | 'exchange'>): Account {
    const account = this.#open(identity);
    if (response.destroyed || response.closed) account.close();
    else response.once('close', account.close);
    return account;
  }

  #open({ kind, key }: Identity): Account {
    return kind === 'node' ? UNLIMITED : this.#buffered.openAnyway(this.#holderOf(key));
  }
}
