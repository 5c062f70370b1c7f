import type { PolicyReader } from './annotation-reader.ts';
import { clientSecret } from './backend-tls.ts';
import { authoritiesSecret } from './client-certificate.ts';
import { type HeaderSource, headerSource } from './header-sets.ts';

/** Clients must send the name and the password of a user. */
export interface BasicAuth {
  /** ID of the Credentials. */
  readonly credentials: string;
  /** What browsers show to users. */
  readonly realm: string;
}

/** The Secret that an Ingress names to authenticate clients, or for endpoints; or the ConfigMap that it names for headers. */
export interface CredentialsReference {
  readonly id: string;
  /** `namespace/name` of the Secret, or of the ConfigMap if `headers` is present. */
  readonly secret: string;
  readonly headers?: HeaderSource;
  /**
   * `map`: keys of the Secret are users. `file`: the key `auth` has the content of a file of htpasswd. `authorities`: the key
   * `ca.crt` has the authorities of client certificates. `client`, `verifying`: a certificate for endpoints, and their authorities.
   */
  readonly kind: 'file' | 'map' | 'authorities' | 'client' | 'verifying' | HeaderSource['kind'];
}

const MAP = '#map';

export function credentialsReference(id: string): CredentialsReference {
  const headers = headerSource(id);
  if (headers !== undefined) return { id, secret: headers.configMap, kind: headers.kind, headers };
  const secret = authoritiesSecret(id);
  if (secret !== undefined) return { id, secret, kind: 'authorities' };
  const client = clientSecret(id);
  if (client !== undefined) return { id, ...client };
  return id.endsWith(MAP)
    ? { id, secret: id.slice(0, -MAP.length), kind: 'map' }
    : { id, secret: id, kind: 'file' };
}

const OTHERS = ['auth-secret', 'auth-secret-type', 'auth-realm'] as const;
const MOST_CHARACTERS = 200;

/** Undefined if the Ingress asks for none, or if an annotation is not valid: that closes its hosts. */
export function readBasic(reader: PolicyReader, namespace: string): BasicAuth | undefined {
  if (!reader.has('auth-type')) {
    const other = OTHERS.find((name) => reader.has(name));
    if (other !== undefined)
      reader.invalid(other, reader.text(other) ?? '', 'auth-type: basic too, or remove this annotation');
    return undefined;
  }
  const type = reader.text('auth-type') ?? '';
  if (type !== 'basic') {
    const instead = type === 'digest' ? ' (digest authentication uses MD5, and is not supported)' : '';
    reader.invalid('auth-type', type, `basic${instead}`);
  }
  const secret = readSecret(reader, namespace);
  const realm = readRealm(reader);
  const kind = reader.choice('auth-secret-type', ['auth-file', 'auth-map']);
  if (type !== 'basic' || secret === undefined || realm === undefined) return undefined;
  return { credentials: kind === 'auth-map' ? secret + MAP : secret, realm };
}

const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;

/** A Secret of another namespace is refused: its passwords could be guessed through an Ingress of this one. */
function readSecret(reader: PolicyReader, namespace: string): string | undefined {
  const text = reader.text('auth-secret') ?? '';
  const own = `${namespace}/`;
  const name = text.startsWith(own) ? text.slice(own.length) : text;
  if (NAME.test(name)) return own + name;
  reader.invalid('auth-secret', text, 'the name of a Secret in the namespace of the Ingress');
  return undefined;
}

/** The realm is a quoted string in a header of the response. */
function readRealm(reader: PolicyReader): string | undefined {
  const text = reader.text('auth-realm') ?? '';
  if (text.length <= MOST_CHARACTERS && /^[\x20\x21\x23-\x5b\x5d-\x7e]*$/.test(text)) return text;
  reader.invalid(
    'auth-realm',
    text,
    `at most ${MOST_CHARACTERS} printable ASCII characters, without quotation marks and backslashes`,
  );
  return undefined;
}
