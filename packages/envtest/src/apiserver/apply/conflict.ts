/** The 409 response to an apply that would change fields of other managers. */
import { ApiError } from '@tidegate/serving';
import { type FieldSet, pathsOf, printPath } from './fieldset.ts';
import type { Manager } from './managers.ts';

/** The fields of one other manager that an apply would change. */
export interface Conflict {
  manager: Manager;
  fields: FieldSet;
}

/**
 * Lists every conflicting field with its manager. The text and the causes are those of kube-apiserver; kubectl prints
 * them.
 */
export function conflictError(conflicts: readonly Conflict[]): ApiError {
  const found = conflicts.map(({ manager, fields }) => ({
    owner: printManager(manager),
    paths: [...pathsOf(fields)].map(printPath),
  }));
  const causes = found.flatMap(({ owner, paths }) =>
    paths.map((field) => ({ reason: 'FieldManagerConflict', message: `conflict with ${owner}`, field })),
  );
  const text =
    causes.length === 1
      ? `1 conflict: ${causes[0]?.message}: ${causes[0]?.field}`
      : `${causes.length} conflicts: ${found
          .flatMap(({ owner, paths }) => [`conflicts with ${owner}:`, ...paths.map((path) => `- ${path}`)])
          .join('\n')}`;
  return new ApiError(409, 'Conflict', `Apply failed with ${text}`, { causes });
}

function printManager({ manager, subresource, operation, apiVersion }: Manager): string {
  const name = JSON.stringify(manager);
  const via = subresource === '' ? name : `${name} with subresource ${JSON.stringify(subresource)}`;
  return operation === 'Update' ? `${via} using ${apiVersion}` : via;
}
