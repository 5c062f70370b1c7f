import { createSecureContext } from 'node:tls';
import type { PolicyReader } from './annotation-reader.ts';

/** How the router connects to endpoints over TLS, and how it checks them. */
export interface BackendTls {
  /** ID of the Credentials with the certificate that the router shows, and with the authorities of endpoints. */
  readonly credentials?: string;
  /** The certificate of the endpoint must be of one of these authorities, and have the name. */
  readonly verify: boolean;
  /** How many authorities may be between the certificate of the endpoint and one that signs itself. */
  readonly depth: number;
  /** The name in the certificate of the endpoint. Default: `<service>.<namespace>.svc`. */
  readonly name?: string;
  /** The handshake has the name (SNI). */
  readonly sendsName: boolean;
  readonly protocols: readonly TlsVersion[];
  /** In the format of OpenSSL, for TLS 1.2. */
  readonly ciphers?: string;
}

export type TlsVersion = 'TLSv1.2' | 'TLSv1.3';

const VERSIONS: readonly TlsVersion[] = ['TLSv1.2', 'TLSv1.3'];

/** Connections over TLS to endpoints without annotations of this file, if the protocol needs settings. */
export const DEFAULT_BACKEND_TLS: BackendTls = {
  verify: false,
  depth: 1,
  sendsName: false,
  protocols: VERSIONS,
};

const NAMES = [
  ...['proxy-ssl-secret', 'proxy-ssl-name', 'proxy-ssl-server-name', 'proxy-ssl-verify'],
  ...['proxy-ssl-verify-depth', 'proxy-ssl-protocols', 'proxy-ssl-ciphers'],
];

const SUFFIXES = { client: '#client', verifying: '#client-ca' } as const;

/** A Secret with a certificate for endpoints. `verifying`: it must have authorities. Undefined if the ID is of another kind. */
export function clientSecret(id: string): { secret: string; kind: 'client' | 'verifying' } | undefined {
  for (const kind of ['client', 'verifying'] as const)
    if (id.endsWith(SUFFIXES[kind])) return { secret: id.slice(0, -SUFFIXES[kind].length), kind };
  return undefined;
}

/** Undefined if the Ingress asks for none. An invalid value closes its routes: they would connect to a server that is not checked. */
export function readBackendTls(reader: PolicyReader, namespace: string): BackendTls | undefined {
  if (!NAMES.some((name) => reader.has(name))) return undefined;
  const verify = reader.choice('proxy-ssl-verify', ['off', 'on']) === 'on';
  const sendsName = reader.choice('proxy-ssl-server-name', ['off', 'on']) === 'on';
  const secret = readSecret(reader, namespace);
  if (verify && secret === undefined && !reader.has('proxy-ssl-secret'))
    reader.invalid('proxy-ssl-verify', 'on', 'proxy-ssl-secret too: the Secret with the authorities');
  const name = readName(reader);
  const ciphers = readCipherList(reader, 'proxy-ssl-ciphers');
  return {
    ...(secret !== undefined && { credentials: secret + SUFFIXES[verify ? 'verifying' : 'client'] }),
    verify,
    depth: readDepth(reader),
    ...(name !== undefined && { name }),
    sendsName,
    protocols: readProtocols(reader),
    ...(ciphers !== undefined && { ciphers }),
  };
}

const SECRET_NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** A Secret of another namespace is refused: routers read only the Secrets of Ingresses of the same namespace. */
function readSecret(reader: PolicyReader, namespace: string): string | undefined {
  const text = reader.text('proxy-ssl-secret');
  if (text === undefined) return undefined;
  const own = `${namespace}/`;
  const name = text.startsWith(own) ? text.slice(own.length) : text;
  if (SECRET_NAME.test(name)) return own + name;
  reader.invalid('proxy-ssl-secret', text, 'the name of a Secret in the namespace of the Ingress');
  return undefined;
}

const DNS_NAME = /^(?=.{1,253}$)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*$/;

function readName(reader: PolicyReader): string | undefined {
  const text = reader.text('proxy-ssl-name') ?? '';
  if (text === '') return undefined;
  if (DNS_NAME.test(text)) return text;
  reader.invalid('proxy-ssl-name', text, 'a DNS name; variables are not supported');
  return undefined;
}

const MOST_DEPTH = 20;

/** As in ingress-nginx, 0 means the default. */
function readDepth(reader: PolicyReader): number {
  const text = reader.text('proxy-ssl-verify-depth') ?? '1';
  if (/^\d{1,2}$/.test(text) && Number(text) <= MOST_DEPTH) return Number(text) || 1;
  reader.invalid('proxy-ssl-verify-depth', text, `a number from 1 to ${MOST_DEPTH}`);
  return 1;
}

function readProtocols(reader: PolicyReader): readonly TlsVersion[] {
  const text = reader.text('proxy-ssl-protocols') ?? '';
  const words = text.split(/\s+/).filter((word) => word !== '');
  if (words.length === 0) return VERSIONS;
  if (words.some((word) => !(VERSIONS as readonly string[]).includes(word)))
    reader.invalid('proxy-ssl-protocols', text, `a list of ${VERSIONS.join(' and ')}`);
  return VERSIONS.filter((version) => words.includes(version));
}

const MOST_CHARACTERS = 1_000;

export function readCipherList(reader: PolicyReader, name: string): string | undefined {
  const text = reader.text(name) ?? '';
  if (text === '') return undefined;
  if (text.length <= MOST_CHARACTERS && /^[A-Za-z0-9+:_!-]+$/.test(text) && isCipherList(text)) return text;
  reader.invalid(name, text, 'a list of ciphers in the format of OpenSSL, with at least one');
  return undefined;
}

/** OpenSSL knows which names exist. */
function isCipherList(text: string): boolean {
  try {
    createSecureContext({ ciphers: text, maxVersion: 'TLSv1.2' });
    return true;
  } catch {
    return false;
  }
}

export function describeBackendTls({ credentials, verify, name, sendsName }: BackendTls): string {
  const secret = credentials === undefined ? undefined : `Secret ${clientSecret(credentials)?.secret}`;
  const shown = name === undefined ? 'the name of the Service' : `the name ${name}`;
  const checks = verify
    ? `checks the certificates of endpoints with the authorities of ${secret} and ${shown}`
    : 'does not check the certificates of endpoints';
  const more = verify || secret === undefined ? '' : `, shows them the certificate of ${secret}`;
  return `${checks}${more}${sendsName ? ', and sends the name' : ''}`;
}
