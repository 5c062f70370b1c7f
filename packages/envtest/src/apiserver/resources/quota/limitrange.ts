import { define } from '../define.ts';
import { canonicalResources } from '../pod/defaults.ts';
import type { LimitRange, LimitRangeItem } from './types.ts';
import { validateLimitRange } from './validate-limits.ts';

export const limitranges = define<LimitRange>({
  kind: 'LimitRange',
  plural: 'limitranges',
  shortNames: ['limits'],
  parts: ['spec'],
  defaults({ spec }) {
    spec.limits ??= null;
    for (const item of spec.limits ?? []) defaultItem(item);
  },
  validate: validateLimitRange,
});

/** A default that is not given follows from the other amounts: limits from the maximum, requests from limits. */
function defaultItem(item: LimitRangeItem): void {
  for (const list of [item.max, item.min, item.default, item.defaultRequest, item.maxLimitRequestRatio]) {
    if (list !== undefined) canonicalResources(list);
  }
  if (item.type !== 'Container') return;
  const limits = { ...item.max, ...item.default };
  const requests = { ...item.min, ...limits, ...item.defaultRequest };
  if (Object.keys(limits).length > 0) item.default = limits;
  if (Object.keys(requests).length > 0) item.defaultRequest = requests;
}
