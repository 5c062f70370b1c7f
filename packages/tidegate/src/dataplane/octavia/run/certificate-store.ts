/** What a certificate store keeps. */
export interface StoredCertificate {
  /** The chain in PEM, the server certificate first. */
  readonly certificate: string;
  readonly key: string;
}

/**
 * Where Octavia reads certificates from. A certificate never changes: its name contains a hash of its content, so a new
 * one gets another name, and the old one is deleted when no listener uses it.
 */
export interface CertificateStore {
  /** The certificates of this router: names by the reference that Octavia knows them by. */
  list(signal?: AbortSignal): Promise<Map<string, string>>;
  /** Resolves to the reference. */
  store(name: string, certificate: StoredCertificate, signal?: AbortSignal): Promise<string>;
  delete(name: string, signal?: AbortSignal): Promise<void>;
}
