import { isIP, SocketAddress } from 'node:net';
import { type Cache, isBeingDeleted } from '@tidegate/kube';
import { type IngressPool, YURT_INGRESSES, type YurtIngress, type YurtIngressSpec } from '../../api/index.ts';
import type { Membership } from '../../pools/index.ts';
import { readSpec } from '../../yurtingress/index.ts';
import type { Problem, Verdict } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { specToJudge } from './spec-to-judge.ts';

type Pools = Pick<Membership, 'hasPool'>;

/** A pool has one front door, and an address leads to one pool. */
export const yurtIngressRule = (
  membership: Pools,
  yurtIngresses: Pick<Cache<YurtIngress>, 'list'>,
): AdmissionRule => ({
  group: YURT_INGRESSES.group,
  versions: [YURT_INGRESSES.version],
  resource: YURT_INGRESSES.resource,
  scope: 'Cluster',
  // To delete one is always right, whatever has become of its pools.
  operations: ['CREATE', 'UPDATE'],
  // The controllers give a pool to one of those who want it, whoever was let in.
  failurePolicy: 'Ignore',
  judge(request): Verdict {
    const spec = specToJudge<YurtIngressSpec>(request);
    if (spec === undefined) return {};
    const others = yurtIngresses
      .list()
      .filter((other) => other.metadata.name !== request.name && !isBeingDeleted(other));
    const taken = new Taken(others);
    const before = readSpec((request.oldObject?.spec ?? {}) as YurtIngressSpec);
    const verdict = { problems: [] as Problem[], warnings: [] as string[] };
    for (const [index, pool] of (spec.pools ?? []).entries()) {
      const path = `spec.pools[${index}]`;
      const problems = [...taken.nameProblems(pool, path), ...taken.addressProblems(pool, path)];
      // What was let in once, perhaps while nobody was here to judge, must not stand in the way of other changes.
      const isOld = isSame(before.pools.get(pool.name), addressesOf(pool).addresses);
      if (isOld) verdict.warnings.push(...problems.map(({ path, message }) => `${path}: ${message}`));
      else verdict.problems.push(...problems);
      if (!isPool(membership, pool.name))
        verdict.warnings.push(
          `${path}.name: there is no NodePool or NodeGroup ${JSON.stringify(pool.name)} yet`,
        );
    }
    return verdict;
  },
});

const isPool = (membership: Pools, name: string): boolean =>
  membership.hasPool('NodePool', name) || membership.hasPool('NodeGroup', name);

const isSame = (before: readonly string[] | undefined, after: readonly string[]): boolean =>
  before !== undefined &&
  before.length === after.length &&
  after.every((each, index) => each === before[index]);

/** In whichever spelling, and which that is. */
const addressesOf = ({
  ingress_ips,
  ingressIPs,
}: IngressPool): { addresses: readonly string[]; field: string } =>
  ingress_ips === undefined && ingressIPs !== undefined
    ? { addresses: ingressIPs, field: 'ingressIPs' }
    : { addresses: ingress_ips ?? [], field: 'ingress_ips' };

/** Who has which pool and which address; of the object that is judged, as far as it was looked at. */
class Taken {
  readonly #pools = new Map<string, string>();
  readonly #addresses = new Map<string, string>();

  constructor(others: readonly YurtIngress[]) {
    for (const { metadata, spec } of others) {
      for (const [pool, addresses] of readSpec(spec).pools) {
        this.#pools.set(pool, `${metadata.name}`);
        for (const address of addresses)
          this.#addresses.set(canonical(address), `pool ${pool} of YurtIngress ${metadata.name}`);
      }
    }
  }

  nameProblems({ name }: IngressPool, path: string): Problem[] {
    const owner = this.#pools.get(name);
    if (owner === undefined) return [];
    const message = `pool ${name} is in YurtIngress ${owner} already: take it out there first`;
    return [{ path: `${path}.name`, message }];
  }

  addressProblems(pool: IngressPool, path: string): Problem[] {
    const { addresses, field } = addressesOf(pool);
    return addresses.flatMap((address, index) => {
      const message = this.#problemOf(address);
      this.#addresses.set(canonical(address), `pool ${pool.name}`);
      return message === undefined ? [] : [{ path: `${path}.${field}[${index}]`, message }];
    });
  }

  #problemOf(address: string): string | undefined {
    if (isIP(address) === 0)
      return `${JSON.stringify(address)} is no IP address: write one such as 192.0.2.7`;
    const owner = this.#addresses.get(canonical(address));
    return owner && `${address} leads to ${owner} already: an address can lead to one pool only`;
  }
}

/** An IPv6 address can be written in many ways. */
const canonical = (address: string): string =>
  isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address;
