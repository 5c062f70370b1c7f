import { isJsonMap, type JsonMap } from '@tidegate/kube';
import { isKind, type Session, textIn } from '../openstack/index.ts';
import type { CertificateStore, StoredCertificate } from './certificate-store.ts';

/** The parts of a certificate container, in the words of Barbican. */
const PARTS = ['certificate', 'intermediates', 'private_key'] as const;
const PAGE = 100;

/**
 * Certificates in Barbican: a container of the type `certificate` for each, which refers to a secret for the certificate,
 * one for the chain and one for the key. A container is written last, so one that exists is complete.
 */
export class BarbicanStore implements CertificateStore {
  readonly #session: Session;
  readonly #prefix: string;

  /** `prefix` is the start of the names of all certificates of one router. */
  constructor(session: Session, prefix: string) {
    this.#session = session;
    this.#prefix = prefix;
  }

  async list(signal?: AbortSignal): Promise<Map<string, string>> {
    const containers = await this.#all('containers', {}, signal);
    return new Map(
      containers
        .filter((each) => textIn(each, 'name').startsWith(this.#prefix))
        .map((each) => [textIn(each, 'container_ref'), textIn(each, 'name')]),
    );
  }

  async store(name: string, stored: StoredCertificate, signal?: AbortSignal): Promise<string> {
    const [leaf = '', ...chain] = stored.certificate.split(/(?<=-----END CERTIFICATE-----\n?)(?=-----BEGIN)/);
    const content = { certificate: leaf, intermediates: chain.join(''), private_key: stored.key };
    const refs: JsonMap[] = [];
    for (const part of PARTS) {
      if (content[part] === '') continue;
      const ref = await this.#secret(`${name}-${part}`, content[part], signal);
      refs.push({ name: part, secret_ref: ref });
    }
    const body = { name, type: 'certificate', secret_refs: refs };
    const made = await this.#session.call(
      'key-manager',
      { method: 'POST', path: '/v1/containers', body },
      signal,
    );
    return textIn(made, 'container_ref');
  }

  async delete(name: string, signal?: AbortSignal): Promise<void> {
    for (const container of await this.#all('containers', { name }, signal))
      if (container.name === name)
        await this.#delete('containers', textIn(container, 'container_ref'), signal);
    for (const part of PARTS) {
      const secret = `${name}-${part}`;
      for (const each of await this.#all('secrets', { name: secret }, signal))
        if (each.name === secret) await this.#delete('secrets', textIn(each, 'secret_ref'), signal);
    }
  }

  async #secret(name: string, payload: string, signal?: AbortSignal): Promise<string> {
    const body = { name, payload, payload_content_type: 'text/plain', secret_type: 'opaque' };
    const made = await this.#session.call(
      'key-manager',
      { method: 'POST', path: '/v1/secrets', body },
      signal,
    );
    return textIn(made, 'secret_ref');
  }

  async #all(
    kind: 'containers' | 'secrets',
    query: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<JsonMap[]> {
    const all: JsonMap[] = [];
    for (;;) {
      const page = { ...query, limit: `${PAGE}`, offset: `${all.length}` };
      const call = { method: 'GET', path: `/v1/${kind}`, query: page } as const;
      const { [kind]: list, total } = await this.#session.call('key-manager', call, signal);
      const found = Array.isArray(list) ? list.filter(isJsonMap) : [];
      all.push(...found);
      // An administrator can limit pages to less than what the manager asks for.
      if (found.length === 0 || all.length >= Number(total)) return all;
    }
  }

  /** A reference is a URL that ends with the ID. */
  async #delete(kind: string, ref: string, signal?: AbortSignal): Promise<void> {
    const path = `/v1/${kind}/${ref.slice(ref.lastIndexOf('/') + 1)}`;
    try {
      await this.#session.call('key-manager', { method: 'DELETE', path }, signal);
    } catch (error) {
      if (!isKind(error, 'notFound')) throw error;
    }
  }
}
