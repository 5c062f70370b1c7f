import { randomBytes } from 'node:crypto';
import { cookieOf, isSameSecret } from './guard.ts';

const secret = (): string => randomBytes(32).toString('base64url');

/**
 * Other users of this machine can connect to loopback addresses too, so every request for data needs a session. The address that the
 * command prints ends with a key. The key is in the fragment, which browsers do not send: it gets into no log and no Referer header. The
 * page exchanges it for a cookie that scripts cannot read and that requests of other sites do not carry.
 */
export class Session {
  readonly key = secret();
  readonly #token = secret();
  readonly #name: string;

  /** The cookie has the port in its name, because browsers do not separate cookies by port. */
  constructor(port: number) {
    this.#name = `tidegate-console-${port}`;
  }

  isKey(key: unknown): boolean {
    return typeof key === 'string' && isSameSecret(key, this.key);
  }

  /** The Set-Cookie header of a new session. It ends with the browser, and with this process. */
  get cookie(): string {
    return `${this.#name}=${this.#token}; Path=/api/; HttpOnly; SameSite=Strict`;
  }

  isOpen(cookies: string | undefined): boolean {
    return isSameSecret(cookieOf(cookies, this.#name), this.#token);
  }
}
