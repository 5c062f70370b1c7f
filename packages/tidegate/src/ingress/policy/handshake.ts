import type { PolicyReader } from './annotation-reader.ts';
import { readCipherList } from './backend-tls.ts';

/** Settings of TLS handshakes with clients, for a whole host. */
export interface Handshake {
  /** For TLS 1.2, in the format of OpenSSL. */
  readonly ciphers?: string;
  /** Whose order of ciphers decides. */
  readonly order?: 'server' | 'client';
}

/** Annotations of this file. With an invalid value, the settings of the router apply, which are safe. */
export const HANDSHAKE_NAMES = ['ssl-ciphers', 'ssl-prefer-server-ciphers'];

export function readHandshake(reader: PolicyReader): Handshake | undefined {
  if (!HANDSHAKE_NAMES.some((name) => reader.has(name))) return undefined;
  const ciphers = readCipherList(reader, 'ssl-ciphers');
  const prefers = 'ssl-prefer-server-ciphers';
  const before = reader.invalidValues.length;
  const isServer = reader.flag(prefers);
  const order = reader.has(prefers) && reader.invalidValues.length === before;
  return {
    ...(ciphers !== undefined && { ciphers }),
    ...(order && { order: isServer ? 'server' : 'client' }),
  };
}

export const describeHandshake = ({ ciphers, order }: Handshake): string[] => [
  ...(ciphers === undefined ? [] : [`uses the ciphers ${ciphers} with TLS 1.2`]),
  ...(order === undefined
    ? []
    : [`uses the order of ciphers of the ${order === 'server' ? 'router' : 'client'}`]),
];

/** What the Ingresses of a host ask for, the oldest first. As in ingress-nginx, the oldest one with a setting decides about it. */
export function joinedHandshake(asked: readonly (Handshake | undefined)[]): Handshake | undefined {
  const ciphers = asked.find((each) => each?.ciphers !== undefined)?.ciphers;
  const order = asked.find((each) => each?.order !== undefined)?.order;
  if (ciphers === undefined && order === undefined) return undefined;
  return { ...(ciphers !== undefined && { ciphers }), ...(order !== undefined && { order }) };
}
