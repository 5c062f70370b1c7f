import type { HostName } from '../model.ts';

/** Underscores are not allowed in host names by RFC 1123, but clients send them, and wildcards match them. */
const REQUEST_NAME = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;
const IPV6 = /^\[[0-9a-f:.]{2,45}\]$/;
const PORT = /:[0-9]{0,5}$/;
const MAX_LENGTH = 253;

/**
 * Normalizes the host of a Host header, an :authority or a TLS server name: lower case, without the port and without one
 * trailing dot. An absent or empty host becomes the empty name. Returns undefined if it is not a valid host; the
 * response is 400 then.
 */
export function requestHost(header: string | undefined): HostName | undefined {
  if (header === undefined || header === '') return '';
  const name = header.toLowerCase().replace(PORT, '');
  if (name.startsWith('[')) return IPV6.test(name) ? name : undefined;
  const host = name.endsWith('.') ? name.slice(0, -1) : name;
  return host.length <= MAX_LENGTH && REQUEST_NAME.test(host) ? host : undefined;
}

/**
 * The wildcard that covers a host. A wildcard covers exactly one label: `*.b.c` covers `a.b.c`, but not `x.a.b.c`.
 */
export function wildcardOf(host: HostName): HostName | undefined {
  const dot = host.indexOf('.');
  return dot < 0 || host.startsWith('[') ? undefined : `*${host.slice(dot)}`;
}

/** All wildcards above a host or a wildcard, the nearest first: `*.b.c` and `*.c` for `a.b.c`. */
export function wildcardsAbove(host: HostName): HostName[] {
  const wildcards: HostName[] = [];
  const name = host.startsWith('*.') ? host.slice(2) : host;
  for (let above = wildcardOf(name); above !== undefined; above = wildcardOf(above.slice(2)))
    wildcards.push(above);
  return wildcards;
}

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const WRITTEN_NAME = new RegExp(`^(\\*\\.)?${LABEL}(\\.${LABEL})*$`);
const IPV4 = /^[0-9]{1,3}(\.[0-9]{1,3}){3}$/;

/** Normalizes a host that a user wrote in an object. Returns undefined if no request can have this host. */
export function writtenHost(written: string): HostName | undefined {
  if (written === '') return '';
  const name = written.toLowerCase();
  const host = name.endsWith('.') ? name.slice(0, -1) : name;
  return host.length <= MAX_LENGTH && WRITTEN_NAME.test(host) && !IPV4.test(host) ? host : undefined;
}
