/**
 * Validation of names. Each rule returns the errors in the words of kube-apiserver, or an empty list. Users search for
 * these messages, so they are exact, including inconsistencies such as "characters" and "bytes".
 */
export type NameRule = (name: string, prefix: boolean) => string[];

export const maxLengthMessage = (length: number): string => `must be no more than ${length} characters`;
export const rangeMessage = (low: number, high: number): string =>
  `must be between ${low} and ${high}, inclusive`;
export const NON_NEGATIVE = 'must be greater than or equal to 0';
export const IMMUTABLE = 'field is immutable';

export function regexMessage(what: string, regex: string, ...examples: string[]): string {
  const shown = examples.map((example) => `'${example}', `).join(' or ');
  const lead = examples.length === 0 ? '' : `e.g. ${shown}`;
  return `${what} (${lead}regex used for validation is '${regex}')`;
}

const whole = (pattern: string): RegExp => new RegExp(`^(?:${pattern})$`);

const LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const SUBDOMAIN = `${LABEL}(\\.${LABEL})*`;
const LABEL_UNDERSCORE = '_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?';
const SUBDOMAIN_UNDERSCORE = `${LABEL_UNDERSCORE}(\\.${LABEL_UNDERSCORE})*`;
const WILDCARD = `\\*\\.${SUBDOMAIN}`;
const DNS1035 = '[a-z]([-a-z0-9]*[a-z0-9])?';
const LABEL_KEY = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${LABEL_KEY})?`;
const CONFIG_KEY = '[-._a-zA-Z0-9]+';
const HEADER = '[-A-Za-z0-9]+';
const PERCENT = '[0-9]+%';

const labelRegex = whole(LABEL);
const subdomainRegex = whole(SUBDOMAIN);
const underscoreRegex = whole(SUBDOMAIN_UNDERSCORE);
const wildcardRegex = whole(WILDCARD);
const dns1035Regex = whole(DNS1035);
const labelKeyRegex = whole(LABEL_KEY);
const labelValueRegex = whole(LABEL_VALUE);
const configKeyRegex = whole(CONFIG_KEY);
const headerRegex = whole(HEADER);
const percentRegex = whole(PERCENT);

const SUBDOMAIN_RULE =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const LABEL_KEY_RULE =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

const subdomainMessage = regexMessage(SUBDOMAIN_RULE, SUBDOMAIN, 'example.com');

export const isDNS1123Label = (value: string): string[] => {
  const errors = value.length > 63 ? [maxLengthMessage(63)] : [];
  if (labelRegex.test(value)) return errors;
  if (subdomainRegex.test(value)) return [...errors, 'must not contain dots'];
  return [
    ...errors,
    regexMessage(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      LABEL,
      'my-name',
      '123-abc',
    ),
  ];
};

export const isDNS1123Subdomain = (value: string): string[] => [
  ...(value.length > 253 ? [maxLengthMessage(253)] : []),
  ...(subdomainRegex.test(value) ? [] : [subdomainMessage]),
];

export const isDNS1123SubdomainWithUnderscore = (value: string): string[] => [
  ...(value.length > 253 ? [maxLengthMessage(253)] : []),
  ...(underscoreRegex.test(value)
    ? []
    : [
        regexMessage(
          "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and must start and end with an alphanumeric character",
          SUBDOMAIN_UNDERSCORE,
          'example.com',
        ),
      ]),
];

export const isWildcardDNS1123Subdomain = (value: string): string[] => [
  ...(value.length > 253 ? [maxLengthMessage(253)] : []),
  ...(wildcardRegex.test(value)
    ? []
    : [
        regexMessage(
          "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
          WILDCARD,
          '*.example.com',
        ),
      ]),
];

export const isDNS1035Label = (value: string): string[] => [
  ...(value.length > 63 ? [maxLengthMessage(63)] : []),
  ...(dns1035Regex.test(value)
    ? []
    : [
        regexMessage(
          "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
          DNS1035,
          'my-name',
          'abc-123',
        ),
      ]),
];

/** A qualified name: `name` or `prefix.example/name`. */
export const isLabelKey = (value: string): string[] => {
  const parts = value.split('/');
  const examples = ['MyName', 'my.name', '123-abc'];
  if (parts.length > 2) {
    const rule = regexMessage(LABEL_KEY_RULE, LABEL_KEY, ...examples);
    return [
      `a valid label key ${rule} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  }
  const errors: string[] = [];
  const name = parts[parts.length - 1] ?? '';
  const prefix = parts.length === 2 ? parts[0] : undefined;
  if (prefix === '') errors.push('prefix part must be non-empty');
  else if (prefix !== undefined) {
    if (prefix.length > 253) errors.push('prefix part must be no more than 253 bytes');
    if (!subdomainRegex.test(prefix)) errors.push(`prefix part ${subdomainMessage}`);
  }
  if (name === '') errors.push('name part must be non-empty');
  else if (Buffer.byteLength(name) > 63) errors.push('name part must be no more than 63 bytes');
  if (!labelKeyRegex.test(name)) {
    errors.push(`name part ${regexMessage(LABEL_KEY_RULE, LABEL_KEY, ...examples)}`);
  }
  return errors;
};

export const isLabelValue = (value: string): string[] => [
  ...(Buffer.byteLength(value) > 63 ? ['must be no more than 63 bytes'] : []),
  ...(labelValueRegex.test(value)
    ? []
    : [
        regexMessage(
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
          LABEL_VALUE,
          'MyValue',
          'my_value',
          '12345',
        ),
      ]),
];

export const isPathSegmentName = (name: string, prefix = false): string[] => {
  if (!prefix && (name === '.' || name === '..')) return [`may not be '${name}'`];
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
};

export const isPortNumber = (port: number): string[] =>
  port >= 1 && port <= 65535 ? [] : [rangeMessage(1, 65535)];

export const isPortName = (port: string): string[] => {
  const errors: string[] = [];
  if (port.length > 15) errors.push(maxLengthMessage(15));
  if (!/^[-a-z0-9]+$/.test(port)) {
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  }
  if (!/[a-z]/.test(port)) errors.push('must contain at least one letter (a-z)');
  if (port.includes('--')) errors.push('must not contain consecutive hyphens');
  if (port.startsWith('-') || port.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
};

const noParentDirectory = (value: string): string[] => {
  if (value === '.') return ["must not be '.'"];
  if (value === '..') return ["must not be '..'"];
  return value.startsWith('..') ? ["must not start with '..'"] : [];
};

export const isConfigKey = (value: string): string[] => [
  ...(value.length > 253 ? [maxLengthMessage(253)] : []),
  ...(configKeyRegex.test(value)
    ? []
    : [
        regexMessage(
          "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          CONFIG_KEY,
          'key.name',
          'KEY_NAME',
          'key-name',
        ),
      ]),
  ...noParentDirectory(value),
];

export const isEnvVarName = (value: string): string[] => {
  if (value === '') return ['environment variable name must be non-empty'];
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(value)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];
};

export const isHttpHeaderName = (value: string): string[] =>
  headerRegex.test(value)
    ? []
    : [
        regexMessage(
          "a valid HTTP header must consist of alphanumeric characters or '-'",
          HEADER,
          'X-Header-Name',
        ),
      ];

export const isPercent = (value: string): string[] =>
  percentRegex.test(value)
    ? []
    : [
        regexMessage(
          "a valid percent string must be a numeric string followed by an ending '%'",
          PERCENT,
          '1%',
          '93%',
        ),
      ];

/** A generateName may end with a dash, because a suffix follows. */
const unmasked = (name: string, prefix: boolean): string =>
  prefix && name.length > 1 && name.endsWith('-') ? `${name.slice(0, -2)}a` : name;

export const nameIsSubdomain: NameRule = (name, prefix) => isDNS1123Subdomain(unmasked(name, prefix));
export const nameIsLabel: NameRule = (name, prefix) => isDNS1123Label(unmasked(name, prefix));
export const nameIsPathSegment: NameRule = (name, prefix) => isPathSegmentName(name, prefix);
