import type { PolicyReader } from './annotation-reader.ts';
import type { Network } from './networks.ts';
import { readNetworks } from './sources.ts';

/** How much one client, by its address, may ask for. Beyond it, the response is 503. */
export interface Limit {
  /** All of them apply. */
  readonly requests: readonly RequestRate[];
  /** How many requests can be in progress. */
  readonly connections?: number;
  /** Clients without limits. */
  readonly exempt: readonly Network[];
}

/** As in nginx: a bucket that holds `burst` requests, and empties with this rate. */
export interface RequestRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** How fast a response is sent. */
export interface Throttle {
  readonly bytesPerSecond: number;
  /** So many bytes are sent without a limit. */
  readonly after: number;
}

/** Annotations that limit requests. An invalid one closes the hosts of the Ingress. */
export const LIMIT_NAMES = [
  ...['limit-rps', 'limit-rpm', 'limit-connections', 'limit-burst-multiplier'],
  ...['limit-allowlist', 'limit-whitelist', 'limit-rate', 'limit-rate-after'],
];

const DEFAULT_MULTIPLIER = 5;
const KIBI = 1024;

export function readLimit(reader: PolicyReader): Limit | undefined {
  const perSecond = readCount(reader, 'limit-rps');
  const perMinute = readCount(reader, 'limit-rpm');
  const connections = readCount(reader, 'limit-connections');
  const multiplier = readCount(reader, 'limit-burst-multiplier') || DEFAULT_MULTIPLIER;
  const listed = ['limit-allowlist', 'limit-whitelist'].find((name) => reader.has(name));
  const exempt = listed === undefined || reader.text(listed) === '' ? [] : readNetworks(reader, listed);
  const requests = [
    ...(perSecond === 0 ? [] : [{ perSecond, burst: perSecond * multiplier }]),
    ...(perMinute === 0 ? [] : [{ perSecond: perMinute / 60, burst: perMinute * multiplier }]),
  ];
  if (requests.length === 0 && connections === 0) return undefined;
  return { requests, ...(connections > 0 && { connections }), exempt };
}

/** As in ingress-nginx, both are in units of 1024 bytes. */
export function readThrottle(reader: PolicyReader): Throttle | undefined {
  const rate = readCount(reader, 'limit-rate');
  const after = readCount(reader, 'limit-rate-after');
  return rate === 0 ? undefined : { bytesPerSecond: rate * KIBI, after: after * KIBI };
}

const MOST = 1_000_000;

/** 0 if the annotation is absent. */
function readCount(reader: PolicyReader, name: string): number {
  const text = reader.text(name) ?? '';
  if (text === '') return 0;
  if (/^[0-9]{1,7}$/.test(text) && Number(text) <= MOST) return Number(text);
  reader.invalid(name, text, `a number from 0 (no limit) to ${MOST}`);
  return 0;
}

/** Milliseconds to wait until more of a response may be sent. As in nginx, the bytes of one second are sent at once. */
export function throttleMs(
  { bytesPerSecond, after }: Throttle,
  sentBytes: number,
  elapsedMs: number,
): number {
  const due = ((sentBytes - after) / bytesPerSecond - 1) * 1000;
  return Math.max(0, due - elapsedMs);
}
