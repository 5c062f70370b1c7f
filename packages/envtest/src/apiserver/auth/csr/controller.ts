/** Approves CertificateSigningRequests of kubelets and signs the approved ones. */
import type { KubeObject } from '@tidegate/kube';
import type { Core, WriteOptions } from '../../operations/core.ts';
import { editIfPresent } from '../../operations/if-present.ts';
import { decodeStored } from '../../served/codec.ts';
import type { Change } from '../../store/types.ts';
import type { Authorizer } from '../authorization.ts';
import type { Pki } from '../pki.ts';
import { approveRequest, signRequest } from './signer.ts';

const STORAGE = 'certificates.k8s.io/certificatesigningrequests';

/** Requests of other signers, and requests that a user must approve, are left alone. */
export class CsrController {
  readonly #core: Core;
  readonly #options: WriteOptions;
  readonly #pki: Pki;
  readonly #authorizer: Authorizer;
  readonly #enqueue: (name: string) => void;

  constructor(
    core: Core,
    options: WriteOptions,
    identities: { pki: Pki; authorizer: Authorizer },
    enqueue: (name: string) => void,
  ) {
    this.#core = core;
    this.#options = options;
    this.#pki = identities.pki;
    this.#authorizer = identities.authorizer;
    this.#enqueue = enqueue;
    for (const entry of core.store.list(STORAGE).entries) enqueue(entry.name);
  }

  observe(change: Change): void {
    if (change.resource === STORAGE && change.type === 'put') this.#enqueue(change.entry.name);
  }

  async reconcile(name: string): Promise<void> {
    const entry = this.#core.store.get({ resource: STORAGE, namespace: '', name });
    if (entry === undefined) return;
    const csr = decodeStored(entry);
    const approved = approveRequest(csr, this.#authorizer, this.#core.now());
    if (approved !== undefined) await this.#write(name, 'approval', approved);
    const signed = signRequest(approved ?? csr, this.#pki, this.#core.now());
    if (signed !== undefined) await this.#write(name, 'status', signed);
  }

  async #write(name: string, subresource: string, wanted: KubeObject): Promise<void> {
    const served = this.#core.registry.byStorage(STORAGE);
    if (served === undefined) throw new Error('CertificateSigningRequests are not served');
    const target = { served, namespace: '', name, subresource };
    await editIfPresent(this.#core, target, this.#options, (current) => {
      current.status = wanted.status;
    });
  }
}
