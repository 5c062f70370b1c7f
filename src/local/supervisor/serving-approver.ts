import { parseSigningRequest } from '../../kube/certificates/parse-signing-request.ts';
import { encodeAltNames } from '../../kube/certificates/x509.ts';
import {
  CERTIFICATE_SIGNING_REQUESTS,
  type CertificateSigningRequest,
  Informer,
  isConflict,
  isNotFound,
  type KubeClient,
} from '../../kube/index.ts';

const SIGNER = 'kubernetes.io/kubelet-serving';

/** A node of the layout, and the one address that is its own. */
export interface KnownNode {
  name: string;
  address: string;
}

/**
 * Approves the serving certificates of the nodes. Kubernetes leaves that to whoever knows which address belongs to which
 * node: here that is the supervisor. A request for anything else stays for the user to decide.
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

  run(): void {
    const informer = new Informer<CertificateSigningRequest>(this.#client, CERTIFICATE_SIGNING_REQUESTS, {
      fieldSelector: `spec.signerName=${SIGNER}`,
    });
    const look = (csr: CertificateSigningRequest): void => {
      if (!mayBeApproved(csr, this.#nodes)) return;
      this.#approve(csr).catch((error: Error) => {
        if (this.#ended.signal.aborted) return;
        this.#report(`the serving certificate ${csr.metadata.name} could not be approved: ${error.message}`);
      });
    };
    informer.addHandler({ onAdd: look, onUpdate: (_, csr) => look(csr) });
    this.#running = informer.run(this.#ended.signal);
  }

  async close(): Promise<void> {
    this.#ended.abort();
    await this.#running;
  }

  async #approve(csr: CertificateSigningRequest): Promise<void> {
    const approval = {
      type: 'Approved',
      status: 'True',
      reason: 'NodeAddressKnown',
      message: 'The supervisor of this cluster gave the node this address.',
    };
    const approved = {
      ...csr,
      status: { ...csr.status, conditions: [...(csr.status?.conditions ?? []), approval] },
    };
    try {
      await this.#client.update(CERTIFICATE_SIGNING_REQUESTS, approved, {
        subresource: 'approval',
        signal: this.#ended.signal,
      });
    } catch (error) {
      // Somebody else has decided or deleted it; a change of it comes as the next event.
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
  }
}

/** A request by a node, for its own name and address and nothing else, that nobody has decided yet. */
export function mayBeApproved(csr: CertificateSigningRequest, nodes: readonly KnownNode[]): boolean {
  const { signerName, username, request } = csr.spec;
  const node = nodes.find(({ name }) => username === `system:node:${name}`);
  if (signerName !== SIGNER || node === undefined || (csr.status?.conditions ?? []).length > 0) return false;
  const { rawAltNames } = parseSigningRequest(request);
  return rawAltNames?.equals(encodeAltNames([node.name, node.address])) === true;
}
