import type { Certificate, HostName } from '../../../ingress/model.ts';
import type { ListenerCertificates } from './state.ts';

/** Names contain the start of the fingerprint: a certificate with other content is another certificate. */
const FINGERPRINT_CHARACTERS = 32;

export const certificateName = ({ fingerprint }: Certificate): string =>
  fingerprint.slice(0, FINGERPRINT_CHARACTERS);

/** The certificate that Tidegate creates itself, for clients whose server name has no certificate. */
export const OWN_CERTIFICATE = 'default';

export function certificateNames(certificates: ReadonlyMap<HostName, Certificate>): ListenerCertificates {
  const ofClass = certificates.get('');
  const hasDefault = ofClass !== undefined && ofClass.certificate !== '';
  const sni = new Set<string>();
  for (const each of certificates.values())
    if (each.host !== '' && each.certificate !== '') sni.add(certificateName(each));
  const first = hasDefault ? certificateName(ofClass) : OWN_CERTIFICATE;
  // A listener cannot have its default certificate a second time.
  sni.delete(first);
  return { default: first, sni: [...sni].sort() };
}
