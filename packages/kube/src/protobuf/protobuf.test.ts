import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { envelope, field, frame, recordedProtobuf, recordedText } from '../testing/protobuf.ts';
import { decodeList, decodeObject, decodeWatchEvent, readableInProtobuf, WireError } from './index.ts';

/** Recorded answers of real API servers, with the same objects in both encodings. */
describe.each([
  ['v1.36.4', ['services', 'endpoints', 'endpointslices', 'leases', 'events']],
  ['v1.20.2', ['services', 'endpoints', 'endpointslices']],
])('protobuf of a real API server, %s', (version, resources) => {
  it.each(resources)('%s decode to its JSON', (name) => {
    const expected = JSON.parse(recordedText(`${version}/${name}.json`));
    const { items, ...list } = decodeList(recordedProtobuf(`${version}/${name}`));
    const { apiVersion, kind, metadata } = expected;
    expect(list).toStrictEqual({ apiVersion, kind, metadata });
    const itemKind = kind.replace(/List$/, '');
    expect(expected.items.length).toBeGreaterThan(0);
    expect(items).toStrictEqual(
      expected.items.map((item: object) => ({ apiVersion, kind: itemKind, ...item })),
    );
  });

  it('decodes a Status', () => {
    expect(decodeObject(recordedProtobuf(`${version}/status`))).toStrictEqual(
      JSON.parse(recordedText(`${version}/status.json`)),
    );
  });

  it.each(['watch', 'expired'])(
    'decodes the frames of a watch, its bookmarks and failures too: %s',
    (name) => {
      const stream = recordedProtobuf(`${version}/${name}`);
      const events: unknown[] = [];
      for (let at = 0; at < stream.length; ) {
        const end = at + 4 + stream.readUInt32BE(at);
        events.push(decodeWatchEvent(stream.subarray(at + 4, end)));
        at = end;
      }
      const lines = recordedText(`${version}/${name}.jsonl`).trim().split('\n');
      expect(events).toStrictEqual(lines.map((line) => JSON.parse(line)));
    },
  );
});

describe('an unknown field', () => {
  const service = [field(1, field(1, 'web')), field(2, field(4, 'ClusterIP'), field(99, 'new'))];

  it('makes an answer unreadable, because decoding it would lose data', () => {
    const complaint = 'ServiceSpec has the unknown field number 99';
    expect(() => decodeList(envelope('v1', 'ServiceList', field(2, ...service)))).toThrow(complaint);
    const event = frame('ADDED', envelope('v1', 'Service', ...service)).subarray(4);
    expect(() => decodeWatchEvent(event)).toThrow(complaint);
  });

  it('is dropped from a request to a server', () => {
    expect(decodeObject(envelope('v1', 'Service', ...service))).toMatchObject({
      metadata: { name: 'web' },
      spec: { type: 'ClusterIP' },
    });
  });
});

describe('invalid protobuf', () => {
  it('throws a WireError, and nothing else, wherever the body is truncated or changed', () => {
    const whole = recordedProtobuf('v1.36.4/endpointslices');
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

  it('rejects unknown kinds', () => {
    expect(() => decodeObject(envelope('v1', 'Pod'))).toThrow('Pod in v1 is not supported in protobuf');
  });

  it('defines which resources to request in protobuf', () => {
    expect(readableInProtobuf('discovery.k8s.io', 'v1', 'endpointslices')).toBe(true);
    expect(readableInProtobuf('', 'v1', 'services')).toBe(true);
    expect(readableInProtobuf('apps.openyurt.io', 'v1beta2', 'nodepools')).toBe(false);
  });
});
