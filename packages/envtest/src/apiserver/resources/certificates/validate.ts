import { type FieldError, fieldError } from '@tidegate/serving';
import { each, oneOf, supported } from '../validation/checks.ts';
import { isDNS1123Label, isDNS1123Subdomain } from '../validation/names.ts';
import type { CertificateSigningRequest } from './types.ts';

const USAGES = [
  'any',
  'cert sign',
  'client auth',
  'code signing',
  'content commitment',
  'crl sign',
  'data encipherment',
  'decipher only',
  'digital signature',
  'email protection',
  'encipher only',
  'ipsec end system',
  'ipsec tunnel',
  'ipsec user',
  'key agreement',
  'key encipherment',
  'microsoft sgc',
  'netscape sgc',
  'ocsp signing',
  's/mime',
  'server auth',
  'signing',
  'timestamping',
];
const DECISIONS = ['Approved', 'Denied', 'Failed'];
const CONDITIONS = 'status.conditions';

export function validateSigningRequest({ spec, status }: CertificateSigningRequest): FieldError[] {
  const { request = '', usages = [], signerName = '', expirationSeconds } = spec;
  const pem = Buffer.from(request, 'base64').toString();
  return [
    ...(/-----BEGIN CERTIFICATE REQUEST-----[^-]+-----END CERTIFICATE REQUEST-----/.test(pem)
      ? []
      : [fieldError.invalid('spec.request', request || null, 'PEM block type must be CERTIFICATE REQUEST')]),
    ...(usages.length === 0 ? [fieldError.required('spec.usages')] : []),
    ...each('spec.usages', usages, (usage, at) => supported(at, usage, USAGES)),
    ...each('spec.usages', usages, (usage, at, i) =>
      usages.indexOf(usage) < i ? [fieldError.duplicate(at, usage)] : [],
    ),
    ...validateSignerName(signerName, 'spec.signerName'),
    ...(expirationSeconds !== undefined && expirationSeconds < 600
      ? [
          fieldError.invalid(
            'spec.expirationSeconds',
            expirationSeconds,
            'may not specify a duration less than 600 seconds (10 minutes)',
          ),
        ]
      : []),
    ...validateConditions(status.conditions ?? []),
  ];
}

function validateSignerName(name: string, path: string): FieldError[] {
  if (name === '') return [fieldError.required(path)];
  if (name === 'kubernetes.io/legacy-unknown') {
    const detail = 'the legacy signerName is not allowed via this API version';
    return [fieldError.invalid(path, name, detail)];
  }
  const [domain = '', signer = '', ...rest] = name.split('/');
  if (!name.includes('/') || rest.length > 0) {
    const detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
    return [fieldError.invalid(path, name, detail)];
  }
  /** Only the first invalid label is reported. */
  const firstWrong = (part: string, rule: (label: string) => string[]): FieldError[] => {
    const label = part.split('.').find((candidate) => rule(candidate).length > 0);
    if (label === undefined) return [];
    return rule(label).map((message) =>
      fieldError.invalid(path, part, `validating label ${JSON.stringify(label)}: ${message}`),
    );
  };
  return [
    ...firstWrong(domain, isDNS1123Label),
    ...(domain.includes('.')
      ? []
      : [
          fieldError.invalid(path, domain, 'should be a domain with at least two segments separated by dots'),
        ]),
    ...firstWrong(signer, isDNS1123Subdomain),
  ];
}

function validateConditions(
  conditions: NonNullable<CertificateSigningRequest['status']['conditions']>,
): FieldError[] {
  const seen = new Set<string>();
  return each(CONDITIONS, conditions, ({ type = '', status }, at) => {
    const errors = type === '' ? [fieldError.required(`${at}.type`)] : [];
    errors.push(
      ...oneOf(`${at}.status`, status, DECISIONS.includes(type) ? ['True'] : ['False', 'True', 'Unknown']),
    );
    const other = type === 'Approved' ? 'Denied' : type === 'Denied' ? 'Approved' : '';
    if (other !== '' && seen.has(other)) {
      const detail = 'Approved and Denied conditions are mutually exclusive';
      errors.push(fieldError.invalid(CONDITIONS, type, detail));
    }
    if (seen.has(type)) errors.push(fieldError.duplicate(`${at}.type`, type));
    seen.add(type);
    return errors;
  });
}

/** Decisions are final. */
export function validateSigningRequestUpdate(
  { status }: CertificateSigningRequest,
  old: CertificateSigningRequest,
): FieldError[] {
  const count = (from: CertificateSigningRequest['status'], type: string): number =>
    (from.conditions ?? []).filter((condition) => condition.type === type).length;
  return DECISIONS.filter((type) => count(status, type) < count(old.status, type)).map((type) =>
    fieldError.forbidden(CONDITIONS, `updates may not remove a condition of type ${JSON.stringify(type)}`),
  );
}

/** Only the subresource `approval` can approve or deny, because it needs a permission of its own. A certificate is final. */
export function validateSigningRequestStatus(
  request: CertificateSigningRequest,
  old: CertificateSigningRequest,
): FieldError[] {
  const of = ({ status }: CertificateSigningRequest, type: string) =>
    (status.conditions ?? []).filter((condition) => condition.type === type);
  const decided = ['Approved', 'Denied'].flatMap((type): FieldError[] => {
    const [before, after] = [of(old, type), of(request, type)];
    if (after.length > before.length) {
      return [
        fieldError.forbidden(CONDITIONS, `updates may not add a condition of type ${JSON.stringify(type)}`),
      ];
    }
    return [];
  });
  const { certificate } = old.status;
  const changed = certificate !== undefined && certificate !== request.status.certificate;
  return [
    ...validateSigningRequest(request),
    ...validateSigningRequestUpdate(request, old),
    ...decided,
    ...(changed
      ? [fieldError.forbidden('status.certificate', 'updates may not modify existing certificate content')]
      : []),
  ];
}
