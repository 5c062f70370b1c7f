/**
 * Renders the templates of the Helm chart without Helm. The templates use three things only, so that this renderer and Helm
 * cannot disagree:
 *   {{ toJson .Values.a.b }}           a value, as JSON: whatever it contains, it stays one value of the YAML document
 *   {{ toJson (print .Values.a "b") }}     a string with a fixed text after it
 *   {{- if .Values.a.b }} ... {{- end }}   as the first and the last line: the file is left out unless the value is set
 * `.Release.Namespace` and `.Chart.AppVersion` are values too. Everything else is an error.
 */
import { InstallError } from './error.ts';
import { type Values, valueAt } from './set-values.ts';

export interface RenderInput {
  values: Values;
  namespace: string;
  version: string;
}

const VALUE = /\{\{ toJson (?:(\.[A-Za-z.]+)|\(print (\.[A-Za-z.]+) "([\w#/.-]*)"\)) \}\}/g;

/** The text of one template, or an empty string if its condition is not met. */
export function renderTemplate(file: string, template: string, input: RenderInput): string {
  const { condition, body } = split(file, template);
  if (condition !== undefined && !isSet(lookUp(file, condition, input))) return '';
  const text = body.replace(VALUE, (_, path: string | undefined, string: string, suffix: string) =>
    JSON.stringify(
      path === undefined ? `${lookUp(file, string, input)}${suffix}` : lookUp(file, path, input),
    ),
  );
  const left = /^.*\{\{.*$/m.exec(withoutRendered(body));
  if (left !== null)
    throw new InstallError(
      `${file}: ${left[0].trim()}: only {{ toJson .Values.NAME }} and {{ toJson (print .Values.NAME "text") }} are supported, and {{- if .Values.NAME }} around a whole file`,
    );
  return text;
}

/** Checked before values are filled in: they may contain braces. */
const withoutRendered = (body: string): string => body.replace(VALUE, '');

function split(file: string, template: string): { condition?: string; body: string } {
  const first = /^\{\{- if (\.Values\.[A-Za-z.]+) \}\}\n/.exec(template);
  if (first === null) return { body: template };
  const last = '{{- end }}\n';
  if (!template.endsWith(`\n${last}`))
    throw new InstallError(`${file}: the last line must be {{- end }}, because the first is a condition`);
  return { condition: first[1], body: template.slice(first[0].length, -last.length) };
}

function lookUp(file: string, path: string, { values, namespace, version }: RenderInput): unknown {
  if (path === '.Release.Namespace') return namespace;
  if (path === '.Chart.AppVersion') return version;
  const value = path.startsWith('.Values.') ? valueAt(values, path.slice('.Values.'.length)) : undefined;
  if (value === undefined) throw new InstallError(`${file}: ${path} is not a value of the chart`);
  return value;
}

/** As in Go templates: false, zero, and what is empty are not set. */
const isSet = (value: unknown): boolean =>
  typeof value === 'object' && value !== null ? Object.keys(value).length > 0 : Boolean(value);
