import { isIPv4, isIPv6 } from 'node:net';

/** The header of the PROXY protocol at the start of a connection. */
export interface ProxyHeader {
  readonly bytes: number;
  /** The client of the proxy. Undefined if the proxy speaks for itself, for example to check whether the router is healthy. */
  readonly address?: string;
}

const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Of version 1, with the line end. */
const MAX_LINE_BYTES = 107;
/** Of version 2. The length field allows more, but a header with all known additions has less. */
const MAX_BYTES = 4096;
const FIXED_BYTES = 16;

/** Reads a header of version 1 or 2. `incomplete` until enough bytes are there. */
export function readProxyHeader(bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  const length = Math.min(bytes.length, SIGNATURE.length);
  if (bytes.subarray(0, length).equals(SIGNATURE.subarray(0, length)))
    return bytes.length < FIXED_BYTES ? 'incomplete' : readBinary(bytes);
  return readLine(bytes);
}

const LINE = /^PROXY (?:UNKNOWN(?: .*)?|TCP([46]) (\S+) (\S+) ([0-9]{1,5}) ([0-9]{1,5}))$/;

function readLine(bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  const text = bytes.toString('latin1', 0, MAX_LINE_BYTES);
  const start = 'PROXY ';
  if (!start.startsWith(text.slice(0, start.length))) return 'invalid';
  const end = text.indexOf('\r\n');
  if (end < 0) return text.length < MAX_LINE_BYTES ? 'incomplete' : 'invalid';
  const [whole, family, source = '', target = '', ...ports] = LINE.exec(text.slice(0, end)) ?? [];
  if (whole === undefined) return 'invalid';
  if (family === undefined) return { bytes: end + 2 };
  const isAddress = family === '4' ? isIPv4 : isIPv6;
  const isValid = isAddress(source) && isAddress(target) && ports.every((port) => Number(port) <= 65_535);
  return isValid ? { bytes: end + 2, address: source } : 'invalid';
}

function readBinary(bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  const [command, family] = [bytes[12]!, bytes[13]! >> 4];
  const total = FIXED_BYTES + bytes.readUInt16BE(14);
  if (command >> 4 !== 2 || (command & 15) > 1 || total > MAX_BYTES) return 'invalid';
  if (bytes.length < total) return 'incomplete';
  // The command LOCAL, or a family that has no IP addresses.
  if ((command & 15) === 0 || (family !== 1 && family !== 2)) return { bytes: total };
  const size = family === 1 ? 4 : 16;
  if (total < FIXED_BYTES + 2 * size + 4) return 'invalid';
  return { bytes: total, address: addressText(bytes.subarray(FIXED_BYTES, FIXED_BYTES + size)) };
}

function addressText(octets: Buffer): string {
  if (octets.length === 4) return octets.join('.');
  const groups = Array.from({ length: 8 }, (_, at) => octets.readUInt16BE(at * 2).toString(16));
  const text = new URL(`http://[${groups.join(':')}]`).hostname;
  return text.slice(1, -1);
}
