/**
 * Everything that can be wrong with an Ingress, and what has to be known to find it: other Ingresses, the Services and
 * endpoints behind it, or its Secrets.
 */
const REASONS = {
  HostConflict: 'routes',
  PathConflict: 'routes',
  InvalidHost: 'routes',
  InvalidPath: 'routes',
  ResourceBackend: 'routes',
  UnknownAnnotation: 'routes',
  InvalidAnnotation: 'routes',
  ServiceNotFound: 'backends',
  PortNotFound: 'backends',
  NoEndpoints: 'backends',
  ExternalNameRefused: 'backends',
  SecretNotFound: 'certificates',
  InvalidCertificate: 'certificates',
  CertificateConflict: 'certificates',
  CertificateForOtherHosts: 'certificates',
  CertificateExpired: 'certificates',
  CertificateExpiresSoon: 'certificates',
} as const;

export type Reason = keyof typeof REASONS;

/** Told to whoever wrote the Ingress. It is served in spite of it, as far as it can be. */
export interface IngressProblem {
  readonly reason: Reason;
  /** Who sees only a part of the objects, as the manager does, leaves the others to those who see them. */
  readonly about: 'routes' | 'backends' | 'certificates';
  /** As `spec.rules[0].host`. */
  readonly field: string;
  readonly message: string;
}

export const ingressProblem = (reason: Reason, field: string, message: string): IngressProblem => ({
  reason,
  about: REASONS[reason],
  field,
  message,
});
