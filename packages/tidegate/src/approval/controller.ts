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
import { approve } from './approve.ts';
import { judge, KUBELET_SERVING, KUBERNETES_NAMES, LOOPBACK_NAMES, type ServingNames } from './judge.ts';

export interface ApprovalContext extends ControllerContext {
  /** Where hubs answer the pods of their nodes: the same everywhere. */
  hubAddresses: readonly string[];
  /** How long others may decide before it complains; a minute unless told. */
  patienceMs?: number;
}

const APPROVED =
  'The node has all the names and addresses that are in the request, or every hub may have them.';

/** A node that is about to register brings its addresses with it, and others may decide too. */
const PATIENCE_MS = 60_000;

/**
 * Approves the serving certificates of nodes and of their hubs. Whatever it does not know to be right it leaves to
 * people, says why in an event, and looks again when the node's addresses change.
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
  const names: ServingNames = {
    of: (node) => nodeAddresses(nodes.cache.get(node)),
    get hubs() {
      const clusterAddresses = kubernetes.cache.list().flatMap(clusterAddressesOf);
      return [...context.hubAddresses, ...clusterAddresses, ...KUBERNETES_NAMES, ...LOOPBACK_NAMES];
    },
  };

  async function reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult | undefined> {
    const csr = requests.cache.get(name);
    const judgement = csr === undefined ? undefined : judge(csr, names);
    if (csr === undefined || judgement === undefined) return undefined;
    if (!judgement.approve) {
      const { username = '' } = csr.spec;
      const ageMs = context.clock.now() - Date.parse(csr.metadata.creationTimestamp ?? '');
      if (ageMs < patienceMs) return { requeueAfter: patienceMs - ageMs };
      log.warn({ csr: name, username, why: judgement.why }, 'a serving certificate is not approved');
      if (nodes.cache.get(username.replace(/^system:node:/, '')) !== undefined)
        recorder.warning(csr, 'NotApproved', `Left to be decided by an administrator: ${judgement.why}.`);
    } else if (await approve(client, csr, APPROVED, signal)) {
      log.info({ csr: name, node: judgement.node }, 'a serving certificate is approved');
    }
    return undefined;
  }

  const addressesDiffer = (old: Node, node: Node): boolean =>
    nodeAddresses(old).join() !== nodeAddresses(node).join();
  return new Controller({ ...context, name: 'serving-certificates', reconcile })
    .watch(requests)
    .watch(nodes, ({ metadata }) => undecided(`system:node:${metadata.name}`), addressesDiffer)
    .watch(kubernetes, () => undecided());
}

const nodeAddresses = (node: Node | undefined): string[] =>
  (node?.status?.addresses ?? []).map(({ address }) => address);

export const clusterAddressesOf = ({ spec }: Service): string[] =>
  (spec?.clusterIPs ?? [spec?.clusterIP ?? '']).filter((address) => address !== '' && address !== 'None');
