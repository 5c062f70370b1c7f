import type { IncomingMessage } from 'node:http';
import { fieldError, invalid } from '@tidegate/serving';
import { managerName } from '../apply/managed-fields.ts';
import type { WriteOptions } from '../operations/core.ts';
import type { UserInfo } from '../resources/types.ts';

export type FieldValidation = 'Ignore' | 'Warn' | 'Strict';

const MAX_MANAGER = 128;

/** Reads dryRun, fieldManager and fieldValidation from the query. Invalid values are rejected before the body is read. */
export function writeOptions(
  kind: string,
  query: URLSearchParams,
  request: IncomingMessage,
  user: UserInfo,
  warn: (message: string) => void,
): WriteOptions {
  const dryRun = query.getAll('dryRun').filter((v) => v !== '');
  const errors = dryRun.every((v) => v === 'All') ? [] : [fieldError.notSupported('dryRun', dryRun, ['All'])];
  const manager = query.get('fieldManager') ?? '';
  if (manager.length > MAX_MANAGER) errors.push(fieldError.tooLong('fieldManager', MAX_MANAGER));
  if (errors.length > 0) throw invalid({ group: 'meta.k8s.io', kind }, '', errors);
  return {
    user,
    dryRun: dryRun.length > 0,
    fieldManager: managerName(manager, request.headers['user-agent'] ?? ''),
    ...(query.get('fieldValidation') && { fieldValidation: query.get('fieldValidation') ?? '' }),
    warn,
  };
}

/** The default is Warn, as in kube-apiserver. kubectl sends Strict. */
export function fieldValidation(kind: string, query: URLSearchParams): FieldValidation {
  const value = query.get('fieldValidation') ?? '';
  if (value === '') return 'Warn';
  if (value === 'Ignore' || value === 'Warn' || value === 'Strict') return value;
  throw invalid({ group: 'meta.k8s.io', kind }, '', [
    fieldError.notSupported('fieldValidation', value, ['', 'Ignore', 'Strict', 'Warn']),
  ]);
}
