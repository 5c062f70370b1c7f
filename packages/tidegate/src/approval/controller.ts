import { isDeepStrictEqual } from 'node:util';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  Controller,
  type ControllerContext,
  NODES,
  type Node,
  type ReconcileResult,
  SERVICES,
  type Service,
} from '@tidegate/kube';
import {
  NODE_ADDRESSES_ANNOTATION,
  NODE_GROUPS,
  NODE_POOLS,
  type NodeGroup,
  type NodePool,
} from '../api/index.ts';
import { type Membership, parseAddressRanges } from '../pools/index.ts';
import { approve } from './approve.ts';
import { decide, KUBELET_SERVING, KUBERNETES_NAMES, LOOPBACK_NAMES, type ServingNames } from './decide.ts';
import { vouching } from './vouching.ts';

export interface ApprovalContext extends ControllerContext {
  /** The addresses at which each hub serves the pods of its node. All hubs use the same addresses. */
  hubAddresses: readonly string[];
  /** Must be fed by the same informers. */
  membership: Membership;
  /** Comma-separated addresses and ranges that every node may have. */
  nodeAddresses: string;
  /**
   * How long a request may wait for an approval by another approver before the controller warns; 60 seconds
   * by default.
   */
  patienceMs?: number;
}

const APPROVED =
  'The names are those of the node and of every hub, and an administrator vouches for the addresses.';

/**
 * A request can arrive before its Node exists, and then the pool of the node is unknown: the kubelet registers the node
 * through the hub that sent the request. Other approvers may also decide. The controller therefore waits before it warns.
 */
const PATIENCE_MS = 60_000;

/**
 * Approves the serving certificates of nodes and of their hubs. The controller never denies a request. It
 * leaves a request that it cannot verify to an administrator, reports the reason in an event, and checks the
 * request again when the pool of the node, the addresses of the pool or of the Service `default/kubernetes` change.
 */
export function approvalController(context: ApprovalContext): Controller {
  const { client, informers, recorder, patienceMs = PATIENCE_MS } = context;
  const log = context.log.child({ controller: 'serving-certificates' });
  const requests = informers.for(CERTIFICATE_SIGNING_REQUESTS, {
    fieldSelector: `spec.signerName=${KUBELET_SERVING}`,
  });
  requests.addIndex('undecidedOf', ({ spec, status }) =>
    (status?.conditions ?? []).length > 0 ? [] : [spec.username ?? ''],
  );
  const nodes = informers.for(NODES);
  const kubernetes = informers.for(SERVICES, {
    namespace: 'default',
    fieldSelector: 'metadata.name=kubernetes',
  });
  const undecided = (username?: string): string[] =>
    (username === undefined ? requests.cache.list() : requests.cache.byIndex('undecidedOf', username)).map(
      ({ metadata }) => metadata.name ?? '',
    );
  const { refusalOf } = vouching({
    ...context,
    ranges: parseAddressRanges(context.nodeAddresses),
  });
  const names: ServingNames = {
    refusalOf,
    get hubs() {
      const clusterAddresses = kubernetes.cache.list().flatMap(clusterAddressesOf);
      return [...context.hubAddresses, ...clusterAddresses, ...KUBERNETES_NAMES, ...LOOPBACK_NAMES];
    },
  };

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const csr = requests.cache.get(name);
    const decision = csr === undefined ? undefined : decide(csr, names);
    if (csr === undefined || decision === undefined) return undefined;
    if (!decision.approve) {
      const { username = '' } = csr.spec;
      const ageMs = context.clock.now() - Date.parse(csr.metadata.creationTimestamp ?? '');
      if (ageMs < patienceMs) return { requeueAfter: patienceMs - ageMs };
      log.warn(
        { csr: name, username, why: decision.why },
        'cannot approve a serving certificate; an administrator must decide',
      );
      // Requests of clients that are not registered nodes are only logged.
      if (nodes.cache.get(username.replace(/^system:node:/, '')) !== undefined)
        recorder.warning(
          csr,
          'NotApproved',
          `Not approved; an administrator must approve or deny this request: ${decision.why}.`,
        );
    } else if (await approve(client, csr, APPROVED, signal)) {
      log.info({ csr: name, node: decision.node }, 'approved a serving certificate');
    }
    return undefined;
  }

  const controller = new Controller({ ...context, name: 'serving-certificates', reconcile })
    .watch(requests)
    .watch(kubernetes, () => undecided());
  controller.watch(informers.for(NODE_POOLS), () => undecided(), rangesDiffer);
  controller.watch(informers.for(NODE_GROUPS), () => undecided(), rangesDiffer);
  // An address is free again when the node that reported it is gone.
  controller.watch(nodes, () => undecided(), addressesDiffer);
  context.membership.subscribe((change) => {
    if (change.type === 'moved')
      undecided(`system:node:${change.node}`).forEach(controller.enqueue, controller);
  });
  return controller;
}

type Annotated = Pick<NodePool | NodeGroup, 'metadata'>;

const rangesDiffer = (old: Annotated, pool: Annotated): boolean =>
  old.metadata.annotations?.[NODE_ADDRESSES_ANNOTATION] !==
  pool.metadata.annotations?.[NODE_ADDRESSES_ANNOTATION];

const addressesDiffer = (old: Node, node: Node): boolean =>
  !isDeepStrictEqual(old.status?.addresses, node.status?.addresses);

/** The cluster IPs of a Service, of both IP families; none for a headless Service. */
export const clusterAddressesOf = ({ spec }: Service): string[] =>
  (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter((address) => address !== '' && address !== 'None');
