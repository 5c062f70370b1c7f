/** Tables of custom resources: the name, then the columns of the definition, or the age. */

import { humanDuration, type KubeObject } from '@tidegate/kube';
import type { Column, TablePrinter } from '../resources/types.ts';
import { loadDescriptions } from '../schema/generated.ts';
import { compileJsonPath } from './json-path.ts';
import type { PrinterColumn } from './types.ts';

const OBJECT_META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
const describeMeta = (field: string): string => loadDescriptions()[OBJECT_META]?.[field] ?? '';

/** Compiles the columns once. Cells that do not have the declared type are empty. */
export function customPrinter(given: PrinterColumn[] | undefined): TablePrinter {
  const asked = given ?? [];
  const columns =
    asked.length > 0 ? asked : [{ name: 'Age', type: 'date', jsonPath: '.metadata.creationTimestamp' }];
  const paths = columns.map((column) => compileJsonPath(column.jsonPath ?? ''));
  let headers: Column[] | undefined;
  return {
    get columns() {
      headers ??= [nameHeader(), ...columns.map((column) => headerOf(column, asked.length === 0))];
      return headers;
    },
    cells(object: KubeObject, now: Date) {
      const own = columns.map((column, index) => cellOf(column.type ?? '', paths[index]?.(object)[0], now));
      return [object.metadata.name ?? '', ...own];
    },
  };
}

const nameHeader = (): Column => ({
  name: 'Name',
  type: 'string',
  format: 'name',
  description: describeMeta('name'),
  priority: 0,
});

function headerOf(column: PrinterColumn, isDefault: boolean): Column {
  const fallback = isDefault
    ? describeMeta('creationTimestamp')
    : `Custom resource definition column (in JSONPath format): ${column.jsonPath}`;
  return {
    name: column.name ?? '',
    type: column.type ?? '',
    format: column.format ?? '',
    description: column.description || fallback,
    priority: column.priority ?? 0,
  };
}

function cellOf(type: string, value: unknown, now: Date): unknown {
  if (value === undefined || value === null) return null;
  switch (type) {
    case 'string':
      return typeof value === 'string' ? value : JSON.stringify(value);
    case 'integer':
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? ageOf(value, now) : null;
    default:
      return null;
  }
}

function ageOf(timestamp: string, now: Date): string {
  const time = Date.parse(timestamp);
  return Number.isNaN(time) ? '<invalid>' : humanDuration(now.getTime() - time);
}
