import { badRequest } from '@tidegate/serving';
import { parseJson } from '../schema/json.ts';

/** The position in a list: its revision and the last object that was sent. Revision -1 continues at the newest revision. */
export interface ContinueToken {
  revision: number;
  after: { namespace: string; name: string };
}

/**
 * The format of kube-apiserver: the key to start from is the last key followed by a null character, which sorts
 * directly after it. Clients must treat the token as opaque.
 */
export function encodeContinue(revision: number, last: { namespace: string; name: string }): string {
  const start = last.namespace === '' ? `${last.name}\0` : `${last.namespace}/${last.name}\0`;
  return Buffer.from(JSON.stringify({ v: 'meta.k8s.io/v1', rv: revision, start })).toString('base64url');
}

export function parseContinue(token: string): ContinueToken {
  let parsed: unknown;
  try {
    parsed = parseJson(Buffer.from(token, 'base64url').toString('latin1'));
  } catch (error) {
    throw badRequest(`invalid continue token: continue key is not valid: ${(error as Error).message}`);
  }
  const { v, rv, start } = (parsed ?? {}) as { v?: unknown; rv?: unknown; start?: unknown };
  if (
    v !== 'meta.k8s.io/v1' ||
    typeof rv !== 'number' ||
    typeof start !== 'string' ||
    !start.endsWith('\0')
  ) {
    throw badRequest(
      `invalid continue token: continue key is not valid: server does not recognize this encoded version ${JSON.stringify(v)}`,
    );
  }
  const [first = '', second] = start.slice(0, -1).split('/');
  const after = second === undefined ? { namespace: '', name: first } : { namespace: first, name: second };
  return { revision: rv, after };
}
