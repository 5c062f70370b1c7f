/** Removes secrets from objects and texts. What looks like a secret is removed, also if it is none. */
import { isJsonMap } from '@tidegate/kube';

export const REDACTED = '<removed>';

/** Fields whose values users fill with credentials. `value` is that of an environment variable. */
const SECRET_FIELD =
  /^(value|args|command|token|password|passwd|secret|apiKey|authorization|stringData|binaryData|request)$/i;
/** Fields that are long and of no use. */
const USELESS_FIELD = /^(managedFields|caBundle|kubectl\.kubernetes\.io\/last-applied-configuration)$/;

/** The object without secrets. `isOurs`: arguments of Tidegate's own programs contain none and are kept. */
export function redactObject(value: unknown, isOurs = false): unknown {
  if (typeof value === 'string') return redactText(value);
  if (Array.isArray(value)) return value.map((item) => redactObject(item, isOurs));
  if (!isJsonMap(value)) return value;
  const isSecret = value.kind === 'Secret';
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !USELESS_FIELD.test(key))
      .map(([key, field]) => {
        const hides =
          (SECRET_FIELD.test(key) && !(isOurs && /^(args|command|value)$/.test(key))) ||
          (isSecret && (key === 'data' || key === 'stringData'));
        return [key, hides ? REDACTED : redactObject(field, isOurs)];
      }),
  );
}

const PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  // JSON web tokens, for example of service accounts.
  /\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
  /\b(?:Bearer|Basic) +[\w.~+/=-]{8,}/gi,
  // Bootstrap tokens.
  /\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g,
  // Credentials in URLs.
  /(?<=:\/\/)[^/\s:@"]+:[^/\s@"]+(?=@)/g,
  /(?<=(?:password|passwd|token|secret|apikey)["']?\s*[=:]\s*["']?)[^\s"',;]{4,}/gi,
];

export const redactText = (text: string): string =>
  PATTERNS.reduce((result, pattern) => result.replace(pattern, REDACTED), text);
