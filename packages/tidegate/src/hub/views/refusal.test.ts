import { ApiStatusError, NODES, PODS, type Resource, SERVICES, statusOf } from '@tidegate/kube';
import { expect, it } from 'vitest';
import { discardsCopy } from './refusal.ts';
import type { ViewKey } from './view.ts';

const key = (identity: string, resource: Resource): ViewKey => ({
  identity,
  resource,
  namespace: '',
  labelSelector: '',
  fieldSelector: '',
});
const refusal = (code: number): Error => new ApiStatusError(statusOf(code, ''));

it.each([
  // View, status code, consecutive refusals, whether the copy is discarded.
  [key('node', PODS), 403, 5, false],
  [key('node', NODES), 401, 5, false],
  [key('node', PODS), 404, 5, false],
  [key('node', SERVICES), 403, 1, true],
  [key('shared', SERVICES), 403, 5, false],
  [key('shared', SERVICES), 401, 5, false],
  [key('shared', SERVICES), 404, 1, false],
  [key('shared', SERVICES), 404, 2, true],
  [key('sa:default:app:1', PODS), 403, 1, true],
  [key('sa:default:app:1', PODS), 404, 1, true],
  [key('sa:default:app:1', PODS), 401, 1, false],
  [key('token:abc', PODS), 401, 1, true],
])('%j refused with %i, %i times: discards the copy: %s', (view, code, times, discards) => {
  expect(discardsCopy(view, refusal(code), times)).toBe(discards);
});
