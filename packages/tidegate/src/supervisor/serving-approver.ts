import {
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  Informer,
  type KubeClient,
  SERVICES,
} from '@tidegate/kube';
import {
  approve,
  clusterAddressesOf,
  decide,
  KUBELET_SERVING,
  KUBERNETES_NAMES,
  LOOPBACK_NAMES,
  type ServingNames,
} from '../approval/index.ts';

/** A node of the layout and the only address it may have. */
export interface KnownNode {
  name: string;
  address: string;
}

const APPROVED = 'The supervisor of this cluster gave the node this address.';

/**
 * Approves the serving certificates of the nodes and their hubs. The manager does this too, but it learns a node's
 * address only when the node registers, and nodes register through their hubs, which need the certificate first.
 * Requests for anything else are left to the user.
 */
export class ServingApprover {
  readonly #client: KubeClient;
  readonly #nodes: readonly KnownNode[];
  readonly #report: (line: string) => void;
  readonly #ended = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(client: KubeClient, nodes: readonly KnownNode[], report: (line: string) => void) {
    this.#client = client;
    this.#nodes = nodes;
    this.#report = report;
  }

  async run(): Promise<void> {
    const { signal } = this.#ended;
    const kubernetes = await this.#client.get(
      SERVICES,
      { namespace: 'default', name: 'kubernetes' },
      { signal },
    );
    const informer = new Informer<CertificateSigningRequest>(this.#client, CERTIFICATE_SIGNING_REQUESTS, {
      fieldSelector: `spec.signerName=${KUBELET_SERVING}`,
    });
    const look = (csr: CertificateSigningRequest): void => {
      if (!mayBeApproved(csr, this.#nodes, clusterAddressesOf(kubernetes))) return;
      approve(this.#client, csr, APPROVED, signal).catch((error: Error) => {
        if (signal.aborted) return;
        this.#report(`cannot approve the serving certificate request ${csr.metadata.name}: ${error.message}`);
      });
    };
    informer.addHandler({ onAdd: look, onUpdate: (_, csr) => look(csr) });
    this.#running = informer.run(signal);
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }
}

/** True for a pending request of a node in the layout that asks only for its own names and those of hubs. */
export function mayBeApproved(
  csr: CertificateSigningRequest,
  nodes: readonly KnownNode[],
  clusterAddresses: readonly string[],
): boolean {
  const node = nodes.find(({ name }) => csr.spec.username === `system:node:${name}`);
  if (node === undefined) return false;
  const names: ServingNames = {
    refusalOf: (_, address) => (address === node.address ? undefined : 'not the address of the node'),
    hubs: [...clusterAddresses, ...KUBERNETES_NAMES, ...LOOPBACK_NAMES],
  };
  return decide(csr, names)?.approve === true;
}
