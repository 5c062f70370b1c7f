/** The format of label keys and label values. The messages are those of apimachinery, because users search for them. */

const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';
const DNS_SUBDOMAIN = `${DNS_LABEL}(\\.${DNS_LABEL})*`;
const LABEL_NAME = '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]';
const LABEL_VALUE = `(${LABEL_NAME})?`;

const dnsSubdomain = new RegExp(`^${DNS_SUBDOMAIN}$`);
const labelName = new RegExp(`^${LABEL_NAME}$`);
const labelValue = new RegExp(`^${LABEL_VALUE}$`);

const SUBDOMAIN_HELP =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const NAME_HELP =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
const VALUE_HELP = `a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`;

const tooLong = (max: number): string => `must be no more than ${max} bytes`;
const regexHelp = (help: string, regex: string, examples: string[]): string =>
  `${help} (e.g. ${examples.map((e) => `'${e}', `).join(' or ')}regex used for validation is '${regex}')`;
const nameHelp = regexHelp(NAME_HELP, LABEL_NAME, ['MyName', 'my.name', '123-abc']);

const isLongerThan = (text: string, max: number): boolean =>
  text.length > max || Buffer.byteLength(text) > max;

function subdomainProblems(value: string): string[] {
  const problems: string[] = [];
  if (isLongerThan(value, 253)) problems.push(tooLong(253));
  if (!dnsSubdomain.test(value)) problems.push(regexHelp(SUBDOMAIN_HELP, DNS_SUBDOMAIN, ['example.com']));
  return problems;
}

function prefixProblems(prefix: string): string[] {
  if (prefix === '') return ['prefix part must be non-empty'];
  return subdomainProblems(prefix).map((p) => `prefix part ${p}`);
}

function nameProblems(name: string): string[] {
  const problems: string[] = [];
  if (name === '') problems.push('name part must be non-empty');
  else if (isLongerThan(name, 63)) problems.push(`name part ${tooLong(63)}`);
  if (!labelName.test(name)) problems.push(`name part ${nameHelp}`);
  return problems;
}

/** All problems of a label key; an empty list means that it is valid. */
export function labelKeyProblems(key: string): string[] {
  const parts = key.split('/');
  if (parts.length === 1) return nameProblems(key);
  if (parts.length === 2) return [...prefixProblems(parts[0]!), ...nameProblems(parts[1]!)];
  return [
    `a valid label key ${nameHelp} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  ];
}

/** All problems of a label value; an empty list means that it is valid. */
export function labelValueProblems(value: string): string[] {
  const problems: string[] = [];
  if (isLongerThan(value, 63)) problems.push(tooLong(63));
  if (!labelValue.test(value)) {
    problems.push(regexHelp(VALUE_HELP, LABEL_VALUE, ['MyValue', 'my_value', '12345']));
  }
  return problems;
}
