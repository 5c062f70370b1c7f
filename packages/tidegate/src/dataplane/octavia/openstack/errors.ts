import { isJsonMap } from '@tidegate/kube';

/**
 * What to do about an error. Octavia reports several different things with the same status, so the text decides.
 *
 * - `busy`: the load balancer is changing. Wait until it is done.
 * - `quota`: the project may not have more objects. An administrator has to act.
 * - `conflict`: what exists is not what the caller believes. Look again.
 * - `denied`: the credentials do not allow it.
 * - `unavailable`: try again later.
 * - `invalid`: the call itself is wrong.
 */
export type ErrorKind = 'busy' | 'quota' | 'conflict' | 'notFound' | 'denied' | 'unavailable' | 'invalid';

/** A call of OpenStack has failed. The message has the service, the call, and the words of the service. */
export class OpenStackError extends Error {
  override readonly name = 'OpenStackError';
  /** 0 if there was no response. */
  readonly status: number;
  readonly kind: ErrorKind;

  constructor(
    message: string,
    { status, kind, cause }: { status: number; kind?: ErrorKind; cause?: unknown },
  ) {
    super(message, { cause });
    this.status = status;
    this.kind = kind ?? kindOf(status, message);
  }
}

const BUSY = /is immutable and cannot be updated|Invalid state \S+ of \S+ resource/;
const QUOTA = /quota/i;

function kindOf(status: number, message: string): ErrorKind {
  if (status === 404) return 'notFound';
  if (status === 409) {
    if (BUSY.test(message)) return 'busy';
    return QUOTA.test(message) ? 'quota' : 'conflict';
  }
  if (status === 413 || (status === 403 && QUOTA.test(message))) return 'quota';
  if (status === 401 || status === 403) return 'denied';
  if (status === 429 || (status >= 500 && status !== 501)) return 'unavailable';
  return 'invalid';
}

const MOST_CHARACTERS = 500;

/** The words of the service. Octavia, Neutron, Keystone and Barbican have different formats. */
export function messageIn(body: unknown, text: string): string {
  const own = isJsonMap(body)
    ? (body.faultstring ??
      messageOf(body.NeutronError) ??
      messageOf(body.error) ??
      body.description ??
      body.title)
    : undefined;
  const message = typeof own === 'string' ? own : text.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  return message.trim().slice(0, MOST_CHARACTERS);
}

const messageOf = (error: unknown): unknown => (isJsonMap(error) ? error.message : undefined);

export const isKind = (error: unknown, ...kinds: ErrorKind[]): error is OpenStackError =>
  error instanceof OpenStackError && kinds.includes(error.kind);
