import { requestHost } from '../match/host.ts';
import { contains, type Network, octetsOf } from '../policy/networks.ts';
import { nodeAddress, readForwarded } from './forwarded.ts';
import type { ClientSettings } from './model.ts';

/** A request as the listener has received it. */
export interface Connection {
  /** The address of the other end of the connection. */
  readonly peer: string;
  /** The address that the PROXY protocol reports. Undefined without the protocol, or if the proxy speaks for itself. */
  readonly proxied: string | undefined;
  /** Over TLS. */
  readonly secure: boolean;
  /** Of the listener. */
  readonly port: number;
  /** The joined values of a header; undefined if it is absent. The name is in lower case. */
  readonly header: (name: string) => string | undefined;
}

/** What is believed about the client. */
export interface ClientFacts {
  readonly client: string;
  /** Whether the client has used HTTPS, here or at a trusted proxy. */
  readonly secure: boolean;
  /** The port that the client has used. */
  readonly port: number;
  /** The host that the client has used, if a trusted proxy reports it. */
  readonly host?: string;
  /** For the header X-Forwarded-For. */
  readonly forwardedFor: string;
  /** The port for redirects to HTTPS. */
  readonly httpsPort: number;
}

/** More proxies than this in a row are a mistake. */
export const MOST_PROXIES = 32;

/** Applies the settings to a request. `clients.lua` is the same for nginx. */
export function clientFacts(settings: ClientSettings | undefined, connection: Connection): ClientFacts {
  const { peer, proxied, secure, port, header } = connection;
  const { ports, trusted = [] } = settings ?? {};
  const portOf = (isSecure: boolean): number => ports?.[isSecure ? 'https' : 'http'] ?? port;
  const own = {
    client: peer,
    secure,
    port: portOf(secure),
    forwardedFor: peer,
    httpsPort: ports?.https ?? 443,
  };
  if (!isTrusted(trusted, peer)) return own;
  // The proxy that has opened the connection, or the one that it speaks for.
  const sender = proxied !== undefined && octetsOf(proxied) !== undefined ? proxied : peer;
  const name = settings?.header;
  if (name === undefined || !isTrusted(trusted, sender))
    return { ...own, client: sender, forwardedFor: sender };
  const value = header(name) ?? '';
  const elements = name === 'forwarded' ? readForwarded(value) : undefined;
  const addresses =
    elements?.map((each) => nodeAddress(each.for ?? '')) ?? value.split(',').map((each) => each.trim());
  const client = firstUntrusted(trusted, sender, addresses);
  const url =
    settings?.wholeUrl !== true ? {} : elements === undefined ? urlOf(header) : urlIn(elements.at(-1));
  const isSecure = url.proto === undefined ? secure : url.proto === 'https';
  return {
    client,
    secure: isSecure,
    port: url.port ?? portOf(isSecure),
    ...(url.host !== undefined && { host: url.host }),
    forwardedFor:
      settings?.fullForwardedFor === true ? fullOf(elements === undefined ? value : '', sender) : client,
    httpsPort: own.httpsPort,
  };
}

/** `a.example.com:8443`; without the port if it is that of the scheme. */
export const withPort = (name: string, port: number, schemePort = 443): string =>
  port === schemePort ? name : `${name}:${port}`;

/**
 * Each proxy appends the address of the one before it, so only the end of the list is trustworthy: the addresses are read
 * backward, until one is not that of a trusted proxy. What is not an address ends the list.
 */
function firstUntrusted(trusted: readonly Network[], sender: string, addresses: readonly string[]): string {
  let client = sender;
  for (const address of addresses.toReversed().slice(0, MOST_PROXIES)) {
    if (octetsOf(address) === undefined) return client;
    client = address;
    if (!isTrusted(trusted, client)) return client;
  }
  return client;
}

function isTrusted(trusted: readonly Network[], address: string): boolean {
  const octets = trusted.length === 0 ? undefined : octetsOf(address);
  return octets !== undefined && trusted.some((network) => contains(network, octets));
}

interface Url {
  readonly proto?: 'http' | 'https';
  readonly host?: string;
  readonly port?: number;
}

const urlOf = (header: Connection['header']): Url => ({
  ...protoOf(header('x-forwarded-proto')),
  ...hostOf(header('x-forwarded-host')),
  ...portIn(header('x-forwarded-port')),
});

const urlIn = (element: { proto?: string; host?: string } | undefined): Url => ({
  ...protoOf(element?.proto),
  ...hostOf(element?.host),
});

/** What is not understood does not count. */
function protoOf(text: string | undefined): Pick<Url, 'proto'> {
  const proto = text?.toLowerCase();
  return proto === 'http' || proto === 'https' ? { proto } : {};
}

const hostOf = (host: string | undefined): Pick<Url, 'host'> =>
  host !== undefined && host !== '' && requestHost(host) !== undefined ? { host } : {};

const portIn = (text: string | undefined): Pick<Url, 'port'> =>
  /^[1-9][0-9]{0,4}$/.test(text ?? '') && Number(text) <= 65_535 ? { port: Number(text) } : {};

const fullOf = (before: string, sender: string): string => (before === '' ? sender : `${before}, ${sender}`);
