import { describe, expect, it } from 'vitest';
import { NODE_ADDRESSES_ANNOTATION } from '../api/index.ts';
import { parseAddressRanges } from '../pools/index.ts';
import { vouching } from './vouching.ts';

const node = (name: string, ...addresses: string[]) => ({
  metadata: { name },
  status: { addresses: addresses.map((address) => ({ type: 'InternalIP', address })) },
});
const NODES = [node('n1', '192.0.2.1'), node('n2', '192.0.2.2', '::ffff:192.0.2.22', '2001:db8:0::2')];
const POOL = { metadata: { name: 'rome', annotations: { [NODE_ADDRESSES_ANNOTATION]: '192.0.2.0/24' } } };

/** Informers with these objects; the index is computed as the real one does. */
function refusalOf(ranges = ''): (node: string, address: string) => string | undefined {
  let valuesOf: (object: (typeof NODES)[number]) => string[] = () => [];
  const informer = {
    addIndex: (_: string, of: typeof valuesOf) => {
      valuesOf = of;
    },
    cache: {
      get: (name: string) => (name === 'rome' ? POOL : undefined),
      byIndex: (_: string, value: string) => NODES.filter((each) => valuesOf(each).includes(value)),
    },
  };
  return vouching({
    informers: { for: () => informer } as never,
    membership: { poolOf: (kind, name) => (kind === 'NodePool' && name !== 'n3' ? 'rome' : undefined) },
    ranges: parseAddressRanges(ranges),
  }).refusalOf;
}

describe('an address', () => {
  it('is vouched for by the annotation of the pool', () => {
    expect(refusalOf()('n1', '192.0.2.1')).toBeUndefined();
    expect(refusalOf()('n1', '192.0.2.99')).toBeUndefined();
    expect(refusalOf()('n1', '198.51.100.1')).toBe(
      `not in the annotation ${NODE_ADDRESSES_ANNOTATION} of NodePool rome`,
    );
    expect(refusalOf()('n3', '192.0.2.99')).toContain('of its pool');
  });

  it('is vouched for by the flag of the manager, also outside of pools', () => {
    expect(refusalOf('198.51.100.0/24')('n3', '198.51.100.1')).toBeUndefined();
  });

  it('of another Node is not vouched for, whatever is configured, in any spelling', () => {
    for (const address of ['192.0.2.2', '192.0.2.22', '2001:db8::2']) {
      expect(refusalOf('0.0.0.0/0,::/0')('n1', address)).toBe('node n2 reports this address');
      expect(refusalOf('0.0.0.0/0,::/0')('n3', address)).toBe('node n2 reports this address');
      expect(refusalOf('0.0.0.0/0,::/0')('n2', address)).toBeUndefined();
    }
  });
});
