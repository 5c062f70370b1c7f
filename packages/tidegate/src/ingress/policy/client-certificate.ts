import {
  compilePattern,
  MAX_STEPS,
  OutOfSteps,
  type Pattern,
  PatternError,
  runPattern,
} from '../regex/index.ts';
import type { PolicyReader } from './annotation-reader.ts';
import { parseUrlTemplate, type UrlTemplate, VARIABLE_NAMES } from './url-template.ts';

/** Clients must show a certificate of an authority in a Secret. It applies to all paths of the hosts of the Ingress. */
export interface ClientCertificate {
  /** ID of the Credentials with the authorities. */
  readonly credentials: string;
  /**
   * `on`: a valid certificate is needed. `optional`: a client may have none. `optionalNoCa`: its authority may also be
   * unknown. `off`: clients are not asked for one.
   */
  readonly verify: 'on' | 'optional' | 'optionalNoCa' | 'off';
  /** How many authorities may be between the certificate and one that signs itself. */
  readonly depth: number;
  /** Where clients without a valid certificate are redirected to. Without it, the response is 400. */
  readonly errorPage?: UrlTemplate;
  /** Endpoints get the certificate. */
  readonly passes?: true;
  /** The subject must match from the beginning of its common name on. Otherwise the response is 403. */
  readonly subject?: Pattern;
}

/** Annotations of this file. An invalid value closes the hosts. */
export const CLIENT_CERTIFICATE_NAMES = [
  ...['auth-tls-secret', 'auth-tls-verify-depth', 'auth-tls-verify-client', 'auth-tls-error-page'],
  ...['auth-tls-pass-certificate-to-upstream', 'auth-tls-match-cn'],
];

const SUFFIX = '#ca';

/** `namespace/name` of the Secret with the authorities of an ID. Undefined if the ID is that of users. */
export const authoritiesSecret = (id: string): string | undefined =>
  id.endsWith(SUFFIX) ? id.slice(0, -SUFFIX.length) : undefined;

/** Undefined if the Ingress asks for none, or if an annotation is not valid: that closes its hosts. */
export function readClientCertificate(
  reader: PolicyReader,
  namespace: string,
): ClientCertificate | undefined {
  const verify = VERIFY[reader.choice('auth-tls-verify-client', ['on', 'off', 'optional', 'optional_no_ca'])];
  const passes = reader.flag('auth-tls-pass-certificate-to-upstream');
  const depth = readDepth(reader);
  const errorPage = readErrorPage(reader);
  const subject = readSubject(reader);
  if (!reader.has('auth-tls-secret')) {
    refuseOthers(reader, verify);
    return undefined;
  }
  const secret = readSecret(reader, namespace);
  if (secret === undefined) return undefined;
  return {
    credentials: secret + SUFFIX,
    verify,
    depth,
    ...(errorPage && { errorPage }),
    ...(passes && { passes: true }),
    ...(subject && { subject }),
  };
}

const VERIFY = { on: 'on', off: 'off', optional: 'optional', optional_no_ca: 'optionalNoCa' } as const;

/** Annotations that ask for certificates have no effect without a Secret. Those that ask for nothing are harmless. */
function refuseOthers(reader: PolicyReader, verify: ClientCertificate['verify']): void {
  const isHarmless = (name: string): boolean =>
    name === 'auth-tls-verify-client'
      ? verify === 'off'
      : name === 'auth-tls-pass-certificate-to-upstream' && !reader.flag(name);
  const other = CLIENT_CERTIFICATE_NAMES.find((name) => reader.has(name) && !isHarmless(name));
  if (other !== undefined)
    reader.invalid(other, reader.text(other) ?? '', 'auth-tls-secret too, or remove this annotation');
}

const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** A Secret of another namespace is refused: routers read only the Secrets of Ingresses of the same namespace. */
function readSecret(reader: PolicyReader, namespace: string): string | undefined {
  const text = reader.text('auth-tls-secret') ?? '';
  const own = `${namespace}/`;
  const name = text.startsWith(own) ? text.slice(own.length) : text;
  if (NAME.test(name)) return own + name;
  reader.invalid('auth-tls-secret', text, 'the name of a Secret in the namespace of the Ingress');
  return undefined;
}

const MOST_DEPTH = 20;

/** As in ingress-nginx, the default is 1. */
function readDepth(reader: PolicyReader): number {
  const text = reader.text('auth-tls-verify-depth') ?? '1';
  if (/^\d{1,2}$/.test(text) && Number(text) <= MOST_DEPTH) return Number(text);
  reader.invalid('auth-tls-verify-depth', text, `a number from 0 to ${MOST_DEPTH}`);
  return 1;
}

function readErrorPage(reader: PolicyReader): UrlTemplate | undefined {
  const text = reader.text('auth-tls-error-page');
  if (text === undefined) return undefined;
  const to = /^https?:\/\/[^/?#$]/.test(text) ? parseUrlTemplate(text) : undefined;
  if (to === undefined)
    reader.invalid('auth-tls-error-page', text, `a URL with http or https. It may contain ${VARIABLE_NAMES}`);
  return to;
}

const BEGINNING = 'CN=';

function readSubject(reader: PolicyReader): Pattern | undefined {
  const text = reader.text('auth-tls-match-cn');
  if (text === undefined) return undefined;
  const expected = `a regular expression that begins with ${BEGINNING}`;
  if (!text.startsWith(BEGINNING)) {
    reader.invalid('auth-tls-match-cn', text, expected);
    return undefined;
  }
  try {
    return compilePattern(`(?:${text})`, undefined, '^', false);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    reader.invalid('auth-tls-match-cn', text, `${expected}: ${error.message}`);
    return undefined;
  }
}

/**
 * A certificate can have 100 KB of common names, each of which is compared with what follows it. Clients need no authority to
 * show one if `optional_no_ca` is set.
 */
export const MOST_SUBJECT_CHARACTERS = 4096;

/**
 * Whether a subject, in the format of RFC 2253, matches. A longer one than the limit does not. ingress-nginx compares anywhere in the text, so an organization with
 * the name `CN=admin` would match; here the comparison begins at a common name. `client_certificate.lua` is the same for nginx.
 */
export function subjectMatches(pattern: Pattern, subject: string): boolean {
  if (subject.length > MOST_SUBJECT_CHARACTERS) return false;
  const steps = { left: MAX_STEPS };
  try {
    return commonNames(subject).some((at) => runPattern(pattern, subject.slice(at), steps) !== undefined);
  } catch (error) {
    if (error instanceof OutOfSteps) return false;
    throw error;
  }
}

/** Where the common names of a subject begin. Commas and plus signs in values have a backslash before them. */
function commonNames(subject: string): number[] {
  const found: number[] = [];
  let isStart = true;
  for (let at = 0; at < subject.length; at++) {
    if (isStart && subject.startsWith(BEGINNING, at)) found.push(at);
    const character = subject[at];
    isStart = character === ',' || character === '+';
    if (character === '\\') at++;
  }
  return found;
}

export function describeClientCertificate({ credentials, verify, errorPage }: ClientCertificate): string {
  const secret = `Secret ${authoritiesSecret(credentials)}`;
  const otherwise = errorPage === undefined ? '' : ', or redirects to an error page';
  switch (verify) {
    case 'on':
      return `asks for a client certificate of an authority in ${secret}${otherwise}`;
    case 'optional':
      return `asks for a client certificate of an authority in ${secret}, or none${otherwise}`;
    case 'optionalNoCa':
      return `asks for a client certificate of any authority, or none${otherwise}`;
    case 'off':
      return 'does not ask for client certificates';
  }
}
