import type { Certificate, HostName } from '../../../ingress/model.ts';
import type { ListenerCertificates } from './state.ts';

/** Names in the store contain the start of the fingerprint: a certificate with other content is another object. */
const FINGERPRINT_CHARACTERS = 32;

export const certificateName = (prefix: string, { fingerprint }: Certificate): string =>
  `${prefix}${fingerprint.slice(0, FINGERPRINT_CHARACTERS)}`;

/** The certificate that Tidegate creates itself, for clients whose server name has no certificate. */
export const ownCertificateName = (prefix: string): string => `${prefix}default`;

export function certificateNames(
  certificates: ReadonlyMap<HostName, Certificate>,
  prefix: string,
): ListenerCertificates {
  const ofClass = certificates.get('');
  const sni = new Set<string>();
  for (const each of certificates.values())
    if (each.host !== '' && each.certificate !== '') sni.add(certificateName(prefix, each));
  return {
    default:
      ofClass === undefined || ofClass.certificate === ''
        ? ownCertificateName(prefix)
        : certificateName(prefix, ofClass),
    sni: [...sni].sort(),
  };
}
