/** Formats values as Go's fmt does: messages of the API server contain them, and users search for those messages. */
import { isJsonMap } from '@tidegate/kube';

/** `%v`: `map[name:web ports:[80 443]]`. */
export function formatGoValue(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return `[${value.map(formatGoValue).join(' ')}]`;
  if (!isJsonMap(value)) return String(value);
  const entries = Object.keys(value).sort();
  return `map[${entries.map((key) => `${key}:${formatGoValue(value[key])}`).join(' ')}]`;
}

/** `%#v`: `map[string]interface {}{"name":"web"}`. */
export function formatGoSyntax(value: unknown): string {
  if (value === null || value === undefined) return 'interface {}(nil)';
  if (Array.isArray(value)) return `[]interface {}{${value.map(formatGoSyntax).join(', ')}}`;
  if (!isJsonMap(value)) return JSON.stringify(value);
  const entries = Object.keys(value).sort();
  const body = entries.map((key) => `${JSON.stringify(key)}:${formatGoSyntax(value[key])}`).join(', ');
  return `map[string]interface {}{${body}}`;
}

/** `%T` of what Go's JSON decoder makes of a value. */
export function goTypeName(value: unknown): string {
  if (value === null || value === undefined) return '<nil>';
  if (Array.isArray(value)) return '[]interface {}';
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return 'map[string]interface {}';
}

/** How Go's JSON decoder names the kind of a value that it found in the wrong place. */
export function goJsonKind(value: unknown): string {
  if (value === null || value === undefined) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'boolean') return 'bool';
  return typeof value;
}
