/** The failures of a strategic merge patch. What the client cannot have known is, as in kube-apiserver, a bare 500. */
import { ApiError, badRequest } from '@tidegate/serving';
import { formatGoValue, goTypeName } from './go-format.ts';
import type { JsonMap } from './json-value.ts';

export const strategicError = (message: string): ApiError => new ApiError(500, '', message);

export const badPatchFormat = (of: 'primitive list' | 'retainKeys' | 'setElementOrder list'): ApiError =>
  badRequest(`invalid patch format of ${of}`);

export const noMergeKey = (item: JsonMap, key: string): ApiError =>
  strategicError(`map: ${formatGoValue(item)} does not contain declared merge key: ${key}`);

export const badArgumentType = (expected: unknown, actual: unknown): ApiError =>
  strategicError(`expected a ${goTypeName(expected)}, but received a ${goTypeName(actual)}`);

export const listOfLists = (): ApiError =>
  new ApiError(422, 'Invalid', 'the server rejected our request due to an error in our request', {});
