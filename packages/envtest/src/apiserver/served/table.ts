import type { KubeObject, ListMeta } from '@tidegate/kube';
import { badRequest, partialMetadata } from '@tidegate/serving';
import type { Column, ServedVersion } from '../resources/types.ts';

/** A meta.k8s.io Table. */
export interface Table {
  kind: 'Table';
  apiVersion: string;
  metadata: ListMeta;
  columnDefinitions: Column[] | null;
  rows: { cells: unknown[]; object: unknown }[];
}

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export function includeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  throw badRequest(`unrecognized includeObject value: ${JSON.stringify(value)}`);
}

/** The response format that `kubectl get` requests: the server computes the columns and the client prints them. */
export function toTable(
  version: ServedVersion,
  objects: KubeObject[],
  options: { apiVersion: string; include: IncludeObject; metadata: ListMeta; now: Date; headers?: boolean },
): Table {
  return {
    kind: 'Table',
    apiVersion: options.apiVersion,
    metadata: options.metadata,
    columnDefinitions: options.headers === false ? null : version.printer.columns,
    rows: objects.map((object) => ({
      cells: version.printer.cells(object, options.now),
      object: rowObject(object, options.include, options.apiVersion),
    })),
  };
}

function rowObject(object: KubeObject, include: IncludeObject, apiVersion: string): unknown {
  if (include === 'None') return null;
  return include === 'Object' ? object : partialMetadata(object, apiVersion);
}
