/** Field paths of rules and selectable fields, for example `.spec.names['a.b']`. */
import { ownField } from '@tidegate/kube';
import type { Schema } from '../types.ts';

const STEP = /^(?:\.([^.[\]]+)|\['((?:\\.|[^'\\])*)'\])/;

function steps(path: string): string[] | undefined {
  const found: string[] = [];
  let rest = path;
  while (rest !== '') {
    const match = STEP.exec(rest);
    if (match === null) return undefined;
    found.push(match[1] ?? (match[2] ?? '').replace(/\\(.)/g, '$1'));
    rest = rest.slice(match[0].length);
  }
  return found.length === 0 ? undefined : found;
}

/** The schema of the field at the path; undefined if there is none. */
export function schemaAt(schema: Schema, path: string): Schema | undefined {
  let at: Schema | undefined = schema;
  for (const step of steps(path) ?? ['']) {
    const { properties, additionalProperties }: Schema = at ?? {};
    if (properties !== undefined) at = Object.hasOwn(properties, step) ? properties[step] : undefined;
    else at = typeof additionalProperties === 'object' ? additionalProperties : undefined;
    if (at === undefined) return undefined;
  }
  return at;
}

/** The path for error messages, relative to the value of the rule. */
export function shownPath(base: string, schema: Schema, path: string | undefined): string {
  let at: Schema | undefined = schema;
  let text = base;
  for (const step of steps(path ?? '') ?? []) {
    const isField: boolean = at?.properties !== undefined;
    if (isField) text += text === '' ? step : `.${step}`;
    else text += `[${step}]`;
    const { additionalProperties }: Schema = at ?? {};
    at = isField
      ? ownField(at?.properties, step)
      : typeof additionalProperties === 'object'
        ? additionalProperties
        : undefined;
  }
  return text;
}
