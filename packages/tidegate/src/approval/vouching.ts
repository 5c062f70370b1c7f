import { type Informers, NODES, type Node } from '@tidegate/kube';
import { NODE_ADDRESSES_ANNOTATION, NODE_GROUPS, NODE_POOLS, type PoolKind } from '../api/index.ts';
import { type AddressRanges, type Membership, parseAddressRanges, plainAddress } from '../pools/index.ts';

const ADDRESS_INDEX = 'approval/address';

export interface Vouching {
  /** Why no other party than the node vouches for the address; undefined if one does. */
  refusalOf(node: string, address: string): string | undefined;
}

export interface VouchingOptions {
  informers: Informers;
  membership: Pick<Membership, 'poolOf'>;
  /** Addresses that every node may have, as an administrator has configured. */
  ranges: AddressRanges;
}

/**
 * An administrator vouches for addresses: with an annotation of the pool, or for all nodes with a flag of the manager. An
 * address that another Node reports is refused even then. So a node can get no certificate for the address of another
 * node, and a node that reports foreign addresses can only delay certificates of their owners.
 */
export function vouching({ informers, membership, ranges }: VouchingOptions): Vouching {
  const nodes = informers.for(NODES);
  nodes.addIndex(ADDRESS_INDEX, addressesOf);
  const pools = {
    NodePool: informers.for(NODE_POOLS).cache,
    NodeGroup: informers.for(NODE_GROUPS).cache,
  };
  const poolsOf = (node: string): { name: string; addresses: string | undefined }[] =>
    (['NodePool', 'NodeGroup'] satisfies PoolKind[]).flatMap((kind) => {
      const pool = membership.poolOf(kind, node);
      if (pool === undefined) return [];
      const annotations = pools[kind].get(pool)?.metadata.annotations;
      return [{ name: `${kind} ${pool}`, addresses: annotations?.[NODE_ADDRESSES_ANNOTATION] }];
    });
  return {
    refusalOf: (node, address) => {
      const other = nodes.cache
        .byIndex(ADDRESS_INDEX, address)
        .find(({ metadata }) => metadata.name !== node);
      if (other !== undefined) return `node ${other.metadata.name} reports this address`;
      const own = poolsOf(node);
      const configured = own.map(({ addresses = '' }) => parseAddressRanges(addresses));
      if ([ranges, ...configured].some((each) => each.has(address))) return undefined;
      const where = own.length === 0 ? 'its pool' : own.map(({ name }) => name).join(' or ');
      return `not in the annotation ${NODE_ADDRESSES_ANNOTATION} of ${where}`;
    },
  };
}

const addressesOf = ({ status }: Node): string[] => [
  ...new Set((status?.addresses ?? []).flatMap(({ address }) => plainAddress(address) ?? [])),
];
