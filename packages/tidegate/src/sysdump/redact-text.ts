/**
 * Removes credentials from texts: logs, messages and errors. Nothing describes where a text contains a credential, so whatever
 * follows a name like `password` is removed to the end of the line, with the lines that YAML continues it on. Texts come from
 * tenants too: no pattern repeats without a limit where it can start again and again.
 */
import { isJsonMap } from '@tidegate/kube';

export const REDACTED = '<removed>';

/** Also in longer names: `adminPassword`, `OS_PASSWORD`, `token_value`. */
const CREDENTIAL =
  '(?:password|passwd|passphrase|passcode|passwort|pwd|token|secret|credential|authorization|cookie|signature|bearer|otp' +
  '|(?:api|private|access|account|shared|signing|encryption|client|tls)[-_. ]?key|jsessionid|htpasswd' +
  '|(?<![a-z])(?:pass|pin|pw|auth|sig|sas|psk|session|sid))';
/** What may follow in the same name. `secretName` is the name of an object. */
const REST_OF_NAME = String.raw`(?!names?\b|[-_]?name\b)[\w.-]{0,24}`;
/** In JSON inside of JSON, quotes have backslashes. */
const QUOTE = String.raw`(?:\\{0,8}["'])?`;

/** What comes before the name in the flag of a program. It is only looked at behind the name of a credential. */
const IS_FLAG = String.raw`(?<=(?:^|[^\w-])--?[\w-]{1,60})`;
/** A name with `=` or `:`, or the flag of a program, whose value can be the next argument. */
const ASSIGNED = new RegExp(
  `${CREDENTIAL}(?:${REST_OF_NAME}${QUOTE}\\]?[ \\t]{0,8}[=:]|${IS_FLAG}${REST_OF_NAME}${QUOTE}(?:,|[ \\t]|$))`,
  'i',
);
const CREDENTIAL_NAME = new RegExp(
  `${CREDENTIAL}s?(?:[-_.]?(?:value|data|text|string|hash|hashes|[0-9]{1,3}))?$`,
  'i',
);
/** A flag of a program whose value is the next item of a list. */
const CREDENTIAL_FLAG = new RegExp(`^--?[\\w-]{0,60}?${CREDENTIAL}[\\w.-]{0,60}$`, 'i');

const PATTERNS: readonly RegExp[] = [
  // JSON web tokens, for example of service accounts.
  /\beyJ[\w-]{8,512}\.[\w-]{8,8192}\.[\w-]{0,2048}/g,
  /\b(?:Bearer|Basic|Digest|Negotiate) {1,8}[\w.~+/=-]{8,}.*/gi,
  // Bootstrap tokens.
  /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
  // Credentials in URLs: up to the last @, because a password can contain @ and slashes.
  /(?<=:\/\/)[^\s"]{0,256}(?=@)/g,
  // The same without a scheme, for example `anna:password@tcp(db)/shop`. Digests of images look alike.
  /(?<![\w.:/-])[\w.-]{1,64}:[^\s"'@/]{1,128}(?=@(?!sha\d)[\w([])/g,
  // Hashes of passwords, for example of htpasswd.
  /\$(?:2[abxy]?|1|5|6|7|y|gy|apr1|md5|sha1|scrypt|argon2\w{0,3}|pbkdf2[\w-]{0,16})\$[\w./$=,+-]{4,512}/g,
  /\{(?:S?SHA(?:256|384|512)?|S?MD5|CRYPT|PBKDF2[\w-]{0,16})\}[\w+/=.$-]{4,512}/gi,
  // The beginning of a key or certificate, encoded once more.
  /LS0tLS1CRUdJTi[\w+/=-]{0,16384}/g,
];
/** Parameters of URLs of the Kubernetes API. All others can be credentials, for example `code` of OAuth. */
const PARAMETERS = new Set(
  (
    'watch resourceVersion resourceVersionMatch limit timeout timeoutSeconds fieldSelector labelSelector dryRun fieldManager' +
    ' fieldValidation force pretty allowWatchBookmarks sendInitialEvents gracePeriodSeconds propagationPolicy container follow tailLines'
  ).split(' '),
);
const QUERY = /\?[^\s"\\<>]+/g;
const PRIVATE_KEY =
  /-----BEGIN [A-Z ]{0,20}PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]{0,20}PRIVATE KEY-----|$)/g;

/** Whether a field with this name contains a credential, whatever its type is. */
export const isCredentialName = (name: string): boolean => CREDENTIAL_NAME.test(name);

export function redactText(text: string): string {
  const lines: string[] = [];
  let removed: Removed | undefined;
  for (const line of text.replace(PRIVATE_KEY, REDACTED).split(/\r?\n|\r/)) {
    if (removed !== undefined && continues(removed, line)) continue;
    const result = redactLine(line);
    removed = result.removed;
    lines.push(result.line);
  }
  return lines.join('\n');
}

/** A log. Lines of JSON are redacted field by field, so that what follows a credential stays. */
export function redactLog(text: string): string {
  const parts: string[] = [];
  let others: string[] = [];
  const flush = (): void => {
    if (others.length > 0) parts.push(redactText(others.join('\n')));
    others = [];
  };
  for (const line of text.split('\n')) {
    const entry = parsed(line);
    if (entry === undefined) others.push(line);
    else {
      flush();
      parts.push(JSON.stringify(redactFields(entry)));
    }
  }
  flush();
  return parts.join('\n');
}

function parsed(line: string): unknown {
  if (!line.startsWith('{')) return undefined;
  try {
    return JSON.parse(line) as unknown;
  } catch {
    // Not a line of Tidegate, or one that was cut off.
    return undefined;
  }
}

/** A value of Tidegate itself, for example the fields of a log line: no field has the name of a credential. */
export function redactFields(value: unknown): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return redactList(value, redactFields);
  if (!isJsonMap(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, field]) => [
      key,
      isCredentialName(key) || key === 'users' ? REDACTED : redactFields(field),
    ]),
  );
}

/** The items of a list. An item behind the flag of a credential is its value. */
export const redactList = (list: readonly unknown[], redact: (item: unknown) => unknown): unknown[] =>
  list.map((item, at) => {
    if (isCredentialFlag(list[at - 1])) return REDACTED;
    return isCredentialFlag(item) ? item : redact(item);
  });

const isCredentialFlag = (item: unknown): boolean => typeof item === 'string' && CREDENTIAL_FLAG.test(item);

/** A value that was removed, and may continue on the next lines. */
interface Removed {
  /** The column of the name: YAML continues the value on lines that are indented further. */
  readonly column: number;
  /** The quote that the value began with, if it does not end on its line. */
  quote: string | undefined;
  /** Whether the line ended behind the name: then the value is on the next line, wherever it begins. */
  isMissing: boolean;
}

/** The query of a URL, with the values of known parameters only. */
const redactQuery = (query: string): string =>
  `?${query
    .slice(1)
    .split('&')
    .map((part) => {
      const [name = '', ...value] = part.split('=');
      if (PARAMETERS.has(name)) return part;
      return value.length === 0 ? REDACTED : `${name}=${REDACTED}`;
    })
    .join('&')}`;

function redactLine(line: string): { line: string; removed: Removed | undefined } {
  const plain = PATTERNS.reduce(
    (result, pattern) => result.replace(pattern, REDACTED),
    line.replace(QUERY, redactQuery),
  );
  const found = ASSIGNED.exec(plain);
  if (found === null) return { line: plain, removed: undefined };
  const end = found.index + found[0].length;
  const value = plain.slice(end).trim();
  const quote = /^\\*(["'])/.exec(value)?.[1];
  return {
    line: `${plain.slice(0, end)}${REDACTED}`,
    removed: {
      column: /^[\s-]*/.exec(plain)?.[0].length ?? 0,
      quote: quote !== undefined && value.indexOf(quote, value.indexOf(quote) + 1) < 0 ? quote : undefined,
      isMissing: /^[[{(|>\\+\d-]*$/.test(value),
    },
  };
}

function continues(removed: Removed, line: string): boolean {
  if (removed.quote !== undefined) {
    if (line.includes(removed.quote)) removed.quote = undefined;
    return true;
  }
  if (line.trim() === '') return true;
  if (removed.isMissing) {
    removed.isMissing = false;
    return true;
  }
  const indent = /^\s*/.exec(line)?.[0].length ?? 0;
  // The items of a list may be in the column of its name.
  return indent > removed.column || (indent === removed.column && /^\s*-(?:\s|$)/.test(line));
}
