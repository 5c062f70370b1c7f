/**
 * What hubs of a pool send each other: one JSON document per line, each with everything that a node reports. An empty line only
 * shows that the node is there.
 *
 * Pods have no names here, only uids, which EndpointSlices contain. A pod that no Service selects is `null`: it exists, and
 * the others may not know more about it.
 */
import { isIP } from 'node:net';
import type { PodReport } from '../site/index.ts';

export interface Frame {
  /** Different for each process of a hub. */
  readonly epoch: string;
  /** Increases by one with each frame of an epoch. */
  readonly sequence: number;
  /** Whether the reports count for all, because the node is cut off. Otherwise they count only for nodes that are. */
  readonly counts: boolean;
  /** By uid: all pods of the node that have not finished. */
  readonly pods: ReadonlyMap<string, PodReport | null>;
}

/** More than a node has: 250 pods are the most that clouds allow. */
const MOST_PODS = 2_000;
const MOST_ADDRESSES = 4;
export const MOST_FRAME_BYTES = 1024 * 1024;

/** Another hub has sent something that is not a frame. */
export class FrameError extends Error {}

export const encodeFrame = ({ pods, ...frame }: Frame): string =>
  `${JSON.stringify({ ...frame, pods: Object.fromEntries(pods) })}\n`;

/** Parses one line. Throws a FrameError for everything that `encodeFrame` does not write. */
export function parseFrame(line: string): Frame {
  const { epoch, sequence, counts, pods } = mapOf(parseJson(line), 'the frame');
  if (typeof epoch !== 'string' || !/^[\w-]{1,64}$/.test(epoch)) throw new FrameError('epoch is not valid');
  if (!Number.isSafeInteger(sequence)) throw new FrameError('sequence is not a number');
  if (typeof counts !== 'boolean') throw new FrameError('counts is not a boolean');
  const entries = Object.entries(mapOf(pods, 'pods'));
  if (entries.length > MOST_PODS) throw new FrameError(`more than ${MOST_PODS} pods`);
  return {
    epoch,
    sequence: sequence as number,
    counts,
    pods: new Map(entries.map(([uid, report]) => [uidOf(uid), report === null ? null : reportIn(report)])),
  };
}

function reportIn(value: unknown): PodReport {
  const { ips, ready, terminating } = mapOf(value, 'a report');
  if (typeof ready !== 'boolean' || typeof terminating !== 'boolean')
    throw new FrameError('ready or terminating is not a boolean');
  if (!Array.isArray(ips) || ips.length > MOST_ADDRESSES) throw new FrameError('ips is not a short list');
  if (!ips.every((ip) => typeof ip === 'string' && isIP(ip) !== 0))
    throw new FrameError('ips contains something else than addresses');
  return { ips, ready, terminating };
}

function uidOf(uid: string): string {
  if (!/^[\w.-]{1,64}$/.test(uid)) throw new FrameError('a uid is not valid');
  return uid;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new FrameError('a line is not JSON', { cause: error });
  }
}

function mapOf(value: unknown, what: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FrameError(`${what} is not an object`);
  return value as Record<string, unknown>;
}
