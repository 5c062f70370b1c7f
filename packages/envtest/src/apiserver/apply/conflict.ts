/** The 409 that an apply gets when it would change fields that others own. */
import { ApiError } from '@tidegate/serving';
import { type FieldSet, pathsOf, printPath } from './fieldset.ts';
import type { Manager } from './managers.ts';

export interface Conflict {
  manager: Manager;
  fields: FieldSet;
}

export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const found = conflicts.map(({ manager, fields }) => ({
    who: printManager(manager),
    paths: [...pathsOf(fields)].map(printPath),
  }));
  const causes = found.flatMap(({ who, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${who}`, field })),
  );
  const text =
    causes.length === 1
      ? `1 conflict: ${causes[0]?.message}: ${causes[0]?.field}`
      : `${causes.length} conflicts: ${found
          .flatMap(({ who, paths }) => [`conflicts with ${who}:`, ...paths.map((path) => `- ${path}`)])
          .join('\n')}`;
  return new ApiError(409, 'Conflict', `Apply failed with ${text}`, { causes });
}

function printManager({ manager, subresource, operation, apiVersion }: Manager): string {
  const name = JSON.stringify(manager);
  const via = subresource === '' ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === 'Update' ? `${via} using ${apiVersion}` : via;
}
