import { isIP } from 'node:net';
import { isForeignAddress } from '../foreign-address.ts';
import type { PolicyReader } from './annotation-reader.ts';
import { parseUrlTemplate, type UrlTemplate, VARIABLE_NAMES } from './url-template.ts';

/** A server that is not a Service. */
export interface ExternalServer {
  readonly id: string;
  readonly host: string;
  readonly port: number;
  readonly protocol: 'http' | 'https';
}

/** A URL of a server. */
export interface ServerUrl {
  readonly secure: boolean;
  /** The header Host, without a default port. Empty: that of the client. */
  readonly host: string;
  readonly target: UrlTemplate;
  /** Undefined if the host is a variable: the route of the same host for the target is meant. */
  readonly server?: ExternalServer;
}

const OWN_HOST = /^\$(?:\{(?:best_http_host|http_host|host)\}|(?:best_http_host|http_host|host))$/;
const URL_PARTS =
  /^(https?):\/\/(\[[0-9A-Fa-f:.]+\]|\$\{\w+\}|\$\w+|[^/?#:[\]@$]+)(?::([0-9]{1,5}))?((?:[/?$][^#]*)?)$/;
/** The target begins with a slash, also if a variable does. */
const TARGET = /^(?:\/|\$request_uri|\$\{request_uri\}|\$uri|\$\{uri\})/;
const DNS_NAME = /^(?=.{1,253}$)[A-Za-z0-9_-]{1,63}(?:\.[A-Za-z0-9_-]{1,63})*\.?$/;

/** Undefined if it is not valid. Addresses of the node of the router are not: a tenant could reach its services through it. */
export function readServerUrl(reader: PolicyReader, name: string, namespace: string): ServerUrl | undefined {
  const text = reader.text(name) ?? '';
  const [, scheme, written = '', port, rest = ''] = URL_PARTS.exec(text) ?? [];
  const target = parseUrlTemplate(TARGET.test(rest) ? rest : `/${rest}`);
  const refuse = (expected: string): undefined => reader.invalid(name, text, expected) as undefined;
  if (scheme === undefined || target === undefined)
    return refuse(
      `a URL with http or https and a host. The path may contain ${VARIABLE_NAMES}; the host may be $host`,
    );
  const secure = scheme === 'https';
  if (OWN_HOST.test(written))
    return port === undefined
      ? { secure, host: '', target }
      : refuse('$host without a port: the router asks the route of its own host for this path');
  const host = written.toLowerCase().replace(/^\[(.*)\]$/, '$1');
  const number = port === undefined ? (secure ? 443 : 80) : Number(port);
  const isAddress = isIP(host) !== 0;
  if (number < 1 || number > 65_535) return refuse('a port from 1 to 65535');
  if (!isAddress && !DNS_NAME.test(host)) return refuse('a host that is a DNS name, an IP address or $host');
  const isLocal = isAddress ? !isForeignAddress(host) : /(?:^|\.)localhost\.?$/.test(host);
  if (isLocal)
    return refuse('a host other than a loopback or link-local address, to which routers do not connect');
  return {
    secure,
    host: port === undefined ? written.toLowerCase() : `${written.toLowerCase()}:${port}`,
    target,
    server: {
      id: `${namespace}_@${host}@${number}_${scheme}`,
      host,
      port: number,
      protocol: secure ? 'https' : 'http',
    },
  };
}
