/**
 * `@tidegate/kube/certificates`: X.509 certificates and signing requests (PKCS #10), and the CertificateSigningRequest API.
 *
 * A certificate from the cluster: `newSigningRequest` creates a key and a request -> `requestCertificate` posts it as a
 * CertificateSigningRequest and waits -> an approver reads it with `parseSigningRequest` and calls `approveRequest` -> the
 * signer calls `issueCertificate` -> the certificate is in the status.
 *
 * This is our own code instead of a library: Node can verify and parse certificates but not create them, the libraries
 * that can bring a cryptography implementation or a dependency injection container of their own, and every program that
 * talks to a cluster loads this. It only encodes and decodes DER; keys, signatures and verification are Node's. The tests
 * compare it with @peculiar/x509.
 */
export { approveRequest } from './approve-request.ts';
export {
  type CertificateRequestInfo,
  type ExtendedUsage,
  type Issuer,
  issueCertificate,
  type KeyPair,
  selfSignedCa,
} from './certificate.ts';
export { type ParsedSigningRequest, parseSigningRequest } from './parse-signing-request.ts';
export { type CertificateRequest, requestCertificate } from './request-certificate.ts';
export { newSigningRequest, type SigningRequest, type SigningRequestOptions } from './signing-request.ts';
export { subjectOf } from './subject.ts';
export type { Subject } from './x509.ts';
