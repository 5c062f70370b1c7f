import { isDeepStrictEqual } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { KubeList } from '@tidegate/kube';
import { decodeList } from '@tidegate/kube/protobuf';
import { type Figure, millis, quantile } from '../report.ts';
import { encodeList } from './protobuf-writer.ts';
import type { Way } from './ways.ts';

const ROUNDS = 7;

/** The size of a list, and the time to decode it, in protobuf and in JSON. */
export async function benchEncodings(direct: Way): Promise<Figure[]> {
  const json = await direct.read('/apis/discovery.k8s.io/v1/endpointslices');
  const list = withKinds(JSON.parse(json.toString()));
  const protobuf = encodeList(list);
  if (!isDeepStrictEqual(decodeList(protobuf).items, list.items)) throw new Error('protobuf and JSON differ');
  const figure = (what: string, ours: number, theirs: number, text: (value: number) => string): Figure => ({
    what: `the same list in protobuf: ${what}`,
    value: text(ours),
    reference: `JSON ${text(theirs)}`,
    ratio: (ours / theirs).toFixed(2),
  });
  return [
    figure('bytes, as in watches', protobuf.length, json.length, megabytes),
    figure('bytes, gzipped, as in lists', zipped(protobuf), zipped(json), megabytes),
    figure(
      'time to read',
      time(() => decodeList(protobuf)),
      time(() => JSON.parse(json.toString())),
      millis,
    ),
  ];
}

/** API servers use the fastest compression level. */
const zipped = (bytes: Buffer): number => gzipSync(bytes, { level: 1 }).length;

const megabytes = (bytes: number): string => `${(bytes / 1024 / 1024).toFixed(1)} MiB`;

function withKinds({ items, ...list }: KubeList): KubeList {
  const kind = list.kind.replace(/List$/, '');
  return { ...list, items: items.map((item) => ({ ...item, apiVersion: list.apiVersion, kind })) };
}

function time(work: () => unknown): number {
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const started = performance.now();
    work();
    times.push(performance.now() - started);
  }
  return quantile(times, 0.5);
}
