/**
 * All reasons of problems of an Ingress, with the objects that are needed to find them: Ingresses (`routes`), Services
 * and EndpointSlices (`backends`), or Secrets with certificates (`certificates`) or users (`users`, also
 * ConfigMaps with headers).
 */
const REASONS = {
  HostConflict: 'routes',
  HostNotAllowed: 'routes',
  HostNotClaimed: 'routes',
  PathConflict: 'routes',
  InvalidHost: 'routes',
  TooManyHosts: 'routes',
  InvalidPath: 'routes',
  TooManyPaths: 'routes',
  ResourceBackend: 'routes',
  UnknownAnnotation: 'routes',
  InvalidAnnotation: 'routes',
  AccessControlNotSupported: 'routes',
  AnnotationIgnored: 'routes',
  PathsAreRegex: 'routes',
  CanaryNotServed: 'routes',
  AuthoritiesConflict: 'routes',
  InvalidPolicy: 'routes',
  PolicyConflict: 'routes',
  PolicyNotOverridable: 'routes',
  NotSupported: 'routes',
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
  UsersNotFound: 'users',
  InvalidUsers: 'users',
  AuthoritiesNotFound: 'users',
  InvalidAuthorities: 'users',
  BackendCertificateNotFound: 'users',
  InvalidBackendCertificate: 'users',
  HeadersNotFound: 'users',
  InvalidHeaders: 'users',
} as const;

export type Reason = keyof typeof REASONS;

/**
 * A problem of an Ingress. It is reported to the user as an event or a warning; all valid parts of the Ingress are
 * served.
 */
export interface IngressProblem {
  readonly reason: Reason;
  /** Lets a component that reads only some kinds of objects ignore problems about the others. */
  readonly about: 'routes' | 'backends' | 'certificates' | 'users';
  /** For example `spec.rules[0].host`. */
  readonly field: string;
  readonly message: string;
}

export const ingressProblem = (reason: Reason, field: string, message: string): IngressProblem => ({
  reason,
  about: REASONS[reason],
  field,
  message,
});
