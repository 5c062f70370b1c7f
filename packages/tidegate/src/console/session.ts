import { randomBytes } from 'node:crypto';
import { isSameSecret } from './guard.ts';

/**
 * Other users of this machine can connect to loopback addresses too, so every request for data needs a key. The address that the
 * command prints ends with it, in the fragment, which browsers do not send: it gets into no log and no Referer header.
 *
 * The page sends the key in a header and keeps it in its session storage, which belongs to one port. It is not in a cookie:
 * browsers send cookies to all ports of an address, so to the servers of other users and of pods.
 */
export class Session {
  readonly key = randomBytes(32).toString('base64url');

  isOpen(authorization: string | undefined): boolean {
    return isSameSecret(authorization, `Bearer ${this.key}`);
  }
}
