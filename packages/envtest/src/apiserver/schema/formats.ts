/** The values of `format` that the server checks. All other formats are accepted and ignored. */

import { isIP, isIPv4, isIPv6 } from 'node:net';
import { ownField } from '@tidegate/kube';

const UUID = (version: string, variant: string): RegExp =>
  new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${version}[0-9a-f]{3}-?${variant}[0-9a-f]{3}-?[0-9a-f]{12}$`, 'i');
const ANY = '[0-9a-f]';
const SHORT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LONG_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const HOSTNAME =
  /^([a-zA-Z0-9\p{S}\p{L}]((-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?)|([a-zA-Z0-9\p{S}\p{L}](([a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?)(\.)){1,}([a-zA-Z\p{L}]){2,63})$/u;
const GO_DURATION =
  /^[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h)((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))*$/;
const LOOSE_DURATION = /\d+\s*(nano|ns|micro|us|µs|milli|ms|sec|s$|min|m$|hour|hr|h$|day|d$|week|wk|w$)/i;

const by =
  (pattern: RegExp) =>
  (text: string): boolean =>
    pattern.test(text);

const formats: Record<string, (text: string) => boolean> = {
  'date-time': isDateTime,
  datetime: isDateTime,
  date: (text) => /^\d{4}-\d\d-\d\d$/.test(text) && isDateTime(`${text}T00:00:00Z`),
  duration: (text) => text === '0' || GO_DURATION.test(text) || LOOSE_DURATION.test(text),
  byte: by(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/),
  password: () => true,
  uri: isRequestUri,
  email: by(/^(?:[^<>@]*<[^\s<>@]+@[^\s<>@]+>|[^\s<>@()[\],;:"]+@[^\s<>@()[\],;:"]+)$/),
  hostname: (text) =>
    HOSTNAME.test(text) && text.length <= 255 && text.split('.').every((l) => l.length <= 63),
  ipv4: (text) => isIPv4(withoutLeadingZeros(text)) || (isIPv6(text) && text.includes('.')),
  ipv6: (text) => isIPv6(text),
  cidr: isCidr,
  mac: by(/^(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4}(?:[0-9a-f]{2})$|^(?:[0-9a-f]{4}\.){2}[0-9a-f]{4}$/i),
  uuid: by(UUID(ANY, ANY)),
  uuid3: by(UUID('3', ANY)),
  uuid4: by(UUID('4', '[89ab]')),
  uuid5: by(UUID('5', '[89ab]')),
  hexcolor: by(/^#?([0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/),
  ssn: by(/^\d{3}[- ]?\d{2}[- ]?\d{4}$/),
  bsonobjectid: by(/^[0-9a-f]{24}$/i),
  'k8s-short-name': (text) => text.length <= 63 && SHORT_NAME.test(text),
  'k8s-long-name': (text) => text.length <= 253 && LONG_NAME.test(text),
};

/** Also true for formats that are not checked. */
export const hasFormat = (format: string, text: string): boolean => ownField(formats, format)?.(text) ?? true;

export const isKnownFormat = (format: string): boolean =>
  Object.hasOwn(formats, format) || ['int32', 'int64', 'float', 'double'].includes(format);

function isDateTime(text: string): boolean {
  const parts = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)$/.exec(text);
  if (parts === null) return false;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.slice(1, 7).map(Number);
  const date = new Date(Date.UTC(year, month - 1, day));
  return (
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60
  );
}

function isRequestUri(text: string): boolean {
  if (/\s/.test(text)) return false;
  return text.startsWith('/') || URL.canParse(text);
}

const withoutLeadingZeros = (address: string): string => address.replace(/(^|\.)0+(?=\d)/g, '$1');

function isCidr(text: string): boolean {
  const [address = '', length = '', ...rest] = text.split('/');
  const family = isIP(withoutLeadingZeros(address));
  return (
    rest.length === 0 && family !== 0 && /^\d+$/.test(length) && Number(length) <= (family === 4 ? 32 : 128)
  );
}
