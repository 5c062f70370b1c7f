/**
 * Tables for `kubectl get`. A column has a title, a cell function and a description. kube-apiserver takes most
 * descriptions from the documentation of a field, so a column can name the field instead.
 */

import { humanDuration, type KubeObject, ownField } from '@tidegate/kube';
import { structOf } from '../schema/builtin.ts';
import { loadDescriptions } from '../schema/generated.ts';
import type { Schema } from '../schema/types.ts';
import type { Column, TablePrinter } from './types.ts';

export interface TableColumn<T extends KubeObject> {
  name: string;
  cell(object: T, now: Date): unknown;
  type?: 'string' | 'integer' | 'boolean' | 'date';
  format?: string;
  /** Shown only with `-o wide`. */
  wide?: boolean;
  description?: string;
  /** The field whose documentation describes the column, for example `spec.nodeName`. */
  field?: string;
}

export type Table<T extends KubeObject> = readonly TableColumn<T>[];

export const nameColumn = {
  name: 'Name',
  format: 'name',
  field: 'metadata.name',
  cell: (object: KubeObject): unknown => object.metadata.name ?? '',
};

export const ageColumn = {
  name: 'Age',
  field: 'metadata.creationTimestamp',
  cell: (object: KubeObject, now: Date): unknown => since(object.metadata.creationTimestamp, now),
};

/** The table of kinds that do not define one. */
export const createdAtTable: Table<KubeObject> = [
  nameColumn,
  {
    name: 'Created At',
    type: 'date',
    field: 'metadata.creationTimestamp',
    cell: (object) => object.metadata.creationTimestamp ?? '',
  },
];

export const since = (timestamp: string | null | undefined, now: Date): string =>
  timestamp === undefined || timestamp === null || timestamp === ''
    ? '<unknown>'
    : humanDuration(now.getTime() - Date.parse(timestamp));

/** The first three values and the number of the rest. */
export function firstThree(values: string[], none: string): string {
  if (values.length === 0) return none;
  const shown = values.slice(0, 3).join(',');
  return values.length > 3 ? `${shown} + ${values.length - 3} more...` : shown;
}

/** Cells are computed from the stored form; `toStorage` converts objects of other versions. */
export function tablePrinter<T extends KubeObject>(
  table: Table<T>,
  schema: () => Schema,
  toStorage = (object: KubeObject): KubeObject => object,
): TablePrinter {
  let columns: Column[] | undefined;
  return {
    // Computed on first use, because most kinds are never listed.
    get columns() {
      columns ??= table.map((column) => toColumn(column, schema()));
      return columns;
    },
    cells(object, now) {
      const stored = toStorage(object) as T;
      return table.map((column) => column.cell(stored, now));
    },
  };
}

function toColumn<T extends KubeObject>(column: TableColumn<T>, schema: Schema): Column {
  return {
    name: column.name,
    type: column.type ?? 'string',
    format: column.format ?? '',
    description: column.description ?? describe(schema, column.field ?? ''),
    priority: column.wide === true ? 1 : 0,
  };
}

function describe(schema: Schema, path: string): string {
  const steps = path.split('.');
  const field = steps.pop() ?? '';
  let at: Schema | undefined = schema;
  for (const step of steps) at = ownField(at?.properties, step);
  const definition = at === undefined ? undefined : structOf(at)?.definition;
  const text = definition === undefined ? '' : (loadDescriptions()[definition]?.[field] ?? '');
  // The list of enum values is only for `kubectl explain`.
  return text.split('\n\nPossible enum values:')[0] ?? '';
}
