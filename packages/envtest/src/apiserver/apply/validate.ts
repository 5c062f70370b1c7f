/**
 * Checks that an applied configuration fits the schema, as far as merging depends on it. Messages are those of
 * kube-apiserver.
 */

import { isJsonMap } from '@tidegate/kube';
import { formatGoSyntax, formatGoValue, goTypeName } from '../patch/go-format.ts';
import { type FieldType, type ListType, type MapType, type ScalarType, shapeOf } from './field-type.ts';
import { itemElement } from './list-item.ts';
import { fieldElement, printElement } from './path-element.ts';

/** One text with all problems of the object; undefined if there are none. */
export function problemsOf(object: unknown, type: FieldType): string | undefined {
  const problems: string[] = [];
  check(object, type, '', problems);
  if (problems.length <= 1) return problems[0];
  return ['errors:', ...problems.map((problem) => `  ${problem}`)].join('\n');
}

function check(value: unknown, type: FieldType, path: string, problems: string[]): void {
  if (value === null || value === undefined) return;
  switch (shapeOf(type, value)) {
    case 'map':
      checkMap(value, type.map as MapType, path, problems);
      break;
    case 'list':
      checkList(value, type.list as ListType, path, problems);
      break;
    default:
      checkScalar(value, type.scalar as ScalarType, path, problems);
  }
}

function report(problems: string[], path: string, message: string): void {
  problems.push(path === '' ? message : `${path}: ${message}`);
}

function checkMap(value: unknown, type: MapType, path: string, problems: string[]): void {
  if (!isJsonMap(value)) {
    report(problems, path, `expected map, got &{${formatGoValue(value)}}`);
    return;
  }
  for (const [name, child] of Object.entries(value)) {
    if (child === undefined) continue;
    const childPath = path + printElement(fieldElement(name));
    const childType = type.fields.get(name)?.type ?? type.values;
    if (childType === undefined) {
      report(problems, childPath, 'field not declared in schema');
      return;
    }
    check(child, childType, childPath, problems);
  }
}

function checkList(value: unknown, type: ListType, path: string, problems: string[]): void {
  if (!Array.isArray(value)) {
    report(problems, path, `expected list, got &{${formatGoValue(value)}}`);
    return;
  }
  const seen = new Set<string>();
  for (const [i, item] of value.entries()) {
    const found = type.relation === 'atomic' ? { element: `i:${i}` } : itemElement(type, item);
    if ('problem' in found) {
      report(problems, path, `element ${i}: ${found.problem}`);
      return;
    }
    const element = printElement(found.element);
    if (seen.has(found.element)) report(problems, path, `duplicate entries for key ${element}`);
    seen.add(found.element);
    check(item, type.items, path + element, problems);
  }
}

function checkScalar(value: unknown, type: ScalarType, path: string, problems: string[]): void {
  if (type === 'numeric' && typeof value !== 'number') {
    report(problems, path, `expected numeric (int or float), got ${goTypeName(value)}`);
  } else if (type === 'string' && typeof value !== 'string') {
    report(problems, path, `expected string, got &value.valueUnstructured{Value:${formatGoSyntax(value)}}`);
  } else if (type === 'boolean' && typeof value !== 'boolean') {
    report(problems, path, `expected boolean, got &{${formatGoValue(value)}}`);
  } else if (type === 'untyped' && typeof value === 'object') {
    report(problems, path, `expected any scalar, got &{${formatGoValue(value)}}`);
  }
}
