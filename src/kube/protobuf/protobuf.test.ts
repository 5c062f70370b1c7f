import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeList, decodeObject, decodeWatchEvent, readableInProtobuf, WireError } from './index.ts';

const file = (name: string): string => readFileSync(new URL(`testdata/${name}`, import.meta.url), 'utf8');
const protobuf = (name: string): Buffer => Buffer.from(file(`${name}.protobuf.txt`), 'base64');

/** What a real API server (1.36) said of the same objects in both encodings. */
describe('protobuf of a real API server', () => {
  it.each(['services', 'endpoints', 'endpointslices', 'leases', 'events'])(
    '%s decode to its JSON',
    (name) => {
      const expected = JSON.parse(file(`${name}.json`));
      const { items, ...list } = decodeList(protobuf(name));
      expect(list).toEqual({
        apiVersion: expected.apiVersion,
        kind: expected.kind,
        metadata: expected.metadata,
      });
      const kind = expected.kind.replace(/List$/, '');
      const withKind = expected.items.map((item: object) => ({
        apiVersion: expected.apiVersion,
        kind,
        ...item,
      }));
      expect(withKind.length).toBeGreaterThan(0);
      expect(items).toEqual(withKind);
    },
  );

  it('decodes a Status', () => {
    expect(decodeObject(protobuf('status'))).toEqual(JSON.parse(file('status.json')));
  });

  it('decodes the frames of a watch, its bookmarks too', () => {
    const stream = protobuf('watch');
    const events: unknown[] = [];
    for (let at = 0; at < stream.length; ) {
      const end = at + 4 + stream.readUInt32BE(at);
      events.push(decodeWatchEvent(stream.subarray(at + 4, end)));
      at = end;
    }
    const lines = file('watch.jsonl').trim().split('\n');
    expect(events).toEqual(lines.map((line) => JSON.parse(line)));
  });
});

describe('what is no protobuf', () => {
  it('fails with a WireError wherever the body is cut or changed, and never otherwise', () => {
    const whole = protobuf('endpointslices');
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), fc.boolean(), (at, byte, cut) => {
        const body = Buffer.from(cut ? whole.subarray(0, at) : whole);
        if (!cut) body[at] = byte;
        try {
          decodeList(body);
        } catch (error) {
          expect(error).toBeInstanceOf(WireError);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('says of a kind that is not read that it is not', () => {
    const body = Buffer.concat([
      Buffer.from('k8s\0'),
      Buffer.from([0x0a, 9, 0x0a, 2]),
      Buffer.from('v1'),
      Buffer.from([0x12, 3]),
      Buffer.from('Pod'),
    ]);
    expect(() => decodeObject(body)).toThrow('Pod of v1 is not read in protobuf here');
  });

  it('knows which resources are worth asking for', () => {
    expect(readableInProtobuf('discovery.k8s.io', 'v1', 'endpointslices')).toBe(true);
    expect(readableInProtobuf('', 'v1', 'services')).toBe(true);
    expect(readableInProtobuf('apps.openyurt.io', 'v1beta2', 'nodepools')).toBe(false);
  });
});
