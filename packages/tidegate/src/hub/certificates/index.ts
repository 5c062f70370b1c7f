/**
 * The certificates of the hub: the one that it serves with, and the client certificate of the node.
 *
 * Both come from the cluster through a CertificateSigningRequest (renewed-certificate.ts). client-credentials.ts requests
 * the node's client certificate, for the first time with a bootstrap token; serving-certificate.ts requests one for the
 * addresses of the hub and of the Service default/kubernetes, whose place the hub takes. stored-pair.ts keeps each with
 * its key in one file, so that a hub that restarts offline has them. certificate-files.ts reads a serving certificate
 * that another program maintains, for example cert-manager. source.ts is what the listeners see of either.
 */
export { CertificateFiles } from './certificate-files.ts';
export { ClientCredentials } from './client-credentials.ts';
export { openServingCertificate } from './serving-certificate.ts';
export type { CertificateSource } from './source.ts';
