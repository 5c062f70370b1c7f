import type { HostName } from '../model.ts';

/** As requests name it: underscores are no host name by the book, but clients send them and wildcards match them. */
const REQUEST_NAME = /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})*$/;
const IPV6 = /^\[[0-9a-f:.]{2,45}\]$/;
const PORT = /:[0-9]{0,5}$/;
const LONGEST = 253;

/**
 * What a Host header, an :authority or a server name says, as tables spell it: in lower case, without port and one
 * trailing dot. Absent or empty, it is nobody's: ``. Undefined: it is no host, and the answer is 400.
 */
export function requestHost(said: string | undefined): HostName | undefined {
  if (said === undefined || said === '') return '';
  const name = said.toLowerCase().replace(PORT, '');
  if (name.startsWith('[')) return IPV6.test(name) ? name : undefined;
  const host = name.endsWith('.') ? name.slice(0, -1) : name;
  return host.length <= LONGEST && REQUEST_NAME.test(host) ? host : undefined;
}

/** The wildcard that covers a host: one label less, so that `*.b.c` covers `a.b.c` and nothing else below `b.c`. */
export function wildcardOf(host: HostName): HostName | undefined {
  const dot = host.indexOf('.');
  return dot < 0 || host.startsWith('[') ? undefined : `*${host.slice(dot)}`;
}

const LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
const WRITTEN_NAME = new RegExp(`^(\\*\\.)?${LABEL}(\\.${LABEL})*$`);
const IPV4 = /^[0-9]{1,3}(\.[0-9]{1,3}){3}$/;

/** What somebody wrote for a host in an object, in the spelling of tables; undefined when it can be none. */
export function writtenHost(written: string): HostName | undefined {
  if (written === '') return '';
  const name = written.toLowerCase();
  const host = name.endsWith('.') ? name.slice(0, -1) : name;
  return host.length <= LONGEST && WRITTEN_NAME.test(host) && !IPV4.test(host) ? host : undefined;
}
