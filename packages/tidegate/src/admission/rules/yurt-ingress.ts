import { isIP, SocketAddress } from 'node:net';
import { type Cache, isBeingDeleted } from '@tidegate/kube';
import { type IngressPool, YURT_INGRESSES, type YurtIngress, type YurtIngressSpec } from '../../api/index.ts';
import type { Membership } from '../../pools/index.ts';
import { isOldIngressNginx, readSpec } from '../../yurtingress/index.ts';
import type { AdmissionResult, FieldProblem } from '../review.ts';
import type { AdmissionRule } from '../rule.ts';
import { changedSpec } from './changed-spec.ts';

type Pools = Pick<Membership, 'hasPool'>;

/** A pool belongs to one YurtIngress, and an address belongs to one pool. */
export const yurtIngressRule = (
  membership: Pools,
  yurtIngresses: Pick<Cache<YurtIngress>, 'list'>,
): AdmissionRule => ({
  group: YURT_INGRESSES.group,
  versions: [YURT_INGRESSES.version],
  resource: YURT_INGRESSES.resource,
  scope: 'Cluster',
  // Deletion is always allowed, regardless of the state of the pools.
  operations: ['CREATE', 'UPDATE'],
  // The controller assigns each pool to one YurtIngress only, even if several claim it.
  failurePolicy: 'Ignore',
  evaluate(request): AdmissionResult {
    const spec = changedSpec<YurtIngressSpec>(request);
    if (spec === undefined) return {};
    const others = yurtIngresses
      .list()
      .filter((other) => other.metadata.name !== request.name && !isBeingDeleted(other));
    const claims = new Claims(others);
    const before = readSpec((request.oldObject?.spec ?? {}) as YurtIngressSpec);
    const result = { problems: [] as FieldProblem[], warnings: oldImages(spec) };
    for (const [index, pool] of (spec.pools ?? []).entries()) {
      const path = `spec.pools[${index}]`;
      const problems = [...claims.nameProblems(pool, path), ...claims.addressProblems(pool, path)];
      // A pool that is already stored, for example because the webhook was not installed, must not block other changes.
      const isOld = isSame(before.pools.get(pool.name), addressesOf(pool).addresses);
      if (isOld) result.warnings.push(...problems.map(({ path, message }) => `${path}: ${message}`));
      else result.problems.push(...problems);
      if (!isPool(membership, pool.name))
        result.warnings.push(`${path}.name: NodePool or NodeGroup ${JSON.stringify(pool.name)} not found`);
    }
    return result;
  },
});

/** Such an image is accepted, because OpenYurt wrote it into every object. */
const oldImages = (spec: YurtIngressSpec): string[] =>
  (['ingress_controller_image', 'ingressControllerImage'] as const)
    .filter((field) => isOldIngressNginx(spec[field] ?? ''))
    .map(
      (field) =>
        `spec.${field}: ${spec[field]} is a release of ingress-nginx before 1.0 and is not used: the routers run the image of the flavor; remove the field`,
    );

const isPool = (membership: Pools, name: string): boolean =>
  membership.hasPool('NodePool', name) || membership.hasPool('NodeGroup', name);

const isSame = (before: readonly string[] | undefined, after: readonly string[]): boolean =>
  before !== undefined &&
  before.length === after.length &&
  after.every((each, index) => each === before[index]);

/** The addresses, and the name of the field they are in: OpenYurt uses two spellings. */
const addressesOf = ({
  ingress_ips,
  ingressIPs,
}: IngressPool): { addresses: readonly string[]; field: string } =>
  ingress_ips === undefined && ingressIPs !== undefined
    ? { addresses: ingressIPs, field: 'ingressIPs' }
    : { addresses: ingress_ips ?? [], field: 'ingress_ips' };

/** The pools and addresses in use, by other YurtIngresses and by the pools of this one that were checked before. */
class Claims {
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

  nameProblems({ name }: IngressPool, path: string): FieldProblem[] {
    const owner = this.#pools.get(name);
    if (owner === undefined) return [];
    const message = `pool ${name} already belongs to YurtIngress ${owner}: remove it there first`;
    return [{ path: `${path}.name`, message }];
  }

  addressProblems(pool: IngressPool, path: string): FieldProblem[] {
    const { addresses, field } = addressesOf(pool);
    return addresses.flatMap((address, index) => {
      const message = this.#problemOf(address);
      this.#addresses.set(canonical(address), `pool ${pool.name}`);
      return message === undefined ? [] : [{ path: `${path}.${field}[${index}]`, message }];
    });
  }

  #problemOf(address: string): string | undefined {
    if (isIP(address) === 0)
      return `${JSON.stringify(address)} is not a valid IP address: write one, for example 192.0.2.7`;
    const owner = this.#addresses.get(canonical(address));
    return owner && `${address} is already used by ${owner}: an address can belong to one pool only`;
  }
}

/** Makes different spellings of one IPv6 address equal. */
const canonical = (address: string): string =>
  isIP(address) === 6 ? new SocketAddress({ address, family: 'ipv6' }).address : address;
