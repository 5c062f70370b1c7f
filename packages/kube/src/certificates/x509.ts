/** The common parts of certificates and signing requests: names, alternative names, extensions, PEM. */
import type { KeyObject } from 'node:crypto';
import { isIP, SocketAddress } from 'node:net';
import * as der from './der.ts';

const COMMON_NAME = '2.5.4.3';
const ORGANIZATION = '2.5.4.10';
export const SUBJECT_ALT_NAME = '2.5.29.17';
export const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
/** PKCS #9: the attribute of a signing request that contains the requested extensions. */
export const EXTENSION_REQUEST = '1.2.840.113549.1.9.14';

/** Kubernetes reads the common name as the user name and the organizations as groups. */
export interface Subject {
  commonName: string;
  organizations: string[];
}

export const encodeName = (subject: Subject): Buffer =>
  der.sequence(
    ...subject.organizations.map((o) => der.set(der.sequence(der.oid(ORGANIZATION), der.utf8String(o)))),
    der.set(der.sequence(der.oid(COMMON_NAME), der.utf8String(subject.commonName))),
  );

export function parseName(element: der.DerElement): Subject {
  const subject: Subject = { commonName: '', organizations: [] };
  const commonName = der.oid(COMMON_NAME);
  const organization = der.oid(ORGANIZATION);
  for (const relative of element.children()) {
    for (const attribute of relative.children()) {
      const [type, value] = attribute.children();
      if (type === undefined || value === undefined) continue;
      if (type.is(commonName)) subject.commonName = value.text();
      else if (type.is(organization)) subject.organizations.push(value.text());
    }
  }
  return subject;
}

export function countCommonNames(name: der.DerElement): number {
  const commonName = der.oid(COMMON_NAME);
  const attributes = name.children().flatMap((relative) => relative.children());
  return attributes.filter((attribute) => attribute.children()[0]?.is(commonName)).length;
}

export const encodePublicKey = (key: KeyObject): Buffer => key.export({ type: 'spki', format: 'der' });

export function encodeExtension(id: string, value: Buffer, critical = false): Buffer {
  return der.sequence(der.oid(id), ...(critical ? [der.TRUE] : []), der.octetString(value));
}

/** The value of subjectAltName: each host is a DNS name or an IP address. */
export const encodeAltNames = (hosts: readonly string[]): Buffer =>
  der.sequence(
    ...hosts.map((host) =>
      isIP(host) === 0 ? der.implicit(2, Buffer.from(host)) : der.implicit(7, addressBytes(host)),
    ),
  );

function addressBytes(address: string): Buffer {
  if (isIP(address) === 4) return Buffer.from(address.split('.').map(Number));
  // The canonical form has at most one '::'; the rest are groups of hex digits, or an IPv4 address at the end.
  const canonical = new SocketAddress({ address, family: 'ipv6' }).address.replace(
    /(\d+)\.(\d+)\.(\d+)\.(\d+)$/,
    (...bytes) => `${hexGroup(bytes[1], bytes[2])}:${hexGroup(bytes[3], bytes[4])}`,
  );
  const [head = '', tail] = canonical.split('::');
  const groups = (part: string): string[] => (part === '' ? [] : part.split(':'));
  const zeros = tail === undefined ? 0 : 8 - groups(head).length - groups(tail).length;
  const all = [...groups(head), ...Array<string>(zeros).fill('0'), ...groups(tail ?? '')];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}

const hexGroup = (high: string, low: string): string =>
  Buffer.from([Number(high), Number(low)]).toString('hex');

export function pem(label: string, bytes: Buffer): string {
  const lines = bytes.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}
