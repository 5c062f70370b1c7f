/**
 * Results of the verification of client certificates, by the names that Node.js has for the codes of OpenSSL. nginx uses
 * the numbers and the texts of OpenSSL directly.
 */

/** With `optionalNoCa`, certificates with these errors are accepted, as nginx does: their authority is unknown. */
export const TOLERATED_ERRORS: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

/** The same, as numbers of OpenSSL. */
export const TOLERATED_CODES: readonly number[] = [18, 19, 20, 21];

/** The texts of OpenSSL for the errors that endpoints can see. */
const TEXTS: Readonly<Record<string, string>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'self-signed certificate',
  SELF_SIGNED_CERT_IN_CHAIN: 'self-signed certificate in certificate chain',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unable to get local issuer certificate',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unable to verify the first certificate',
};

/** The value of the header ssl-client-verify for a certificate. */
export const verifyText = (error: string | undefined): string =>
  error === undefined ? 'SUCCESS' : `FAILED:${TEXTS[error] ?? error}`;
