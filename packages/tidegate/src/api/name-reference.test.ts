import { expect, it } from 'vitest';
import { NAME_REFERENCE } from './name-reference.ts';
import * as names from './names.ts';

it.each(['label', 'annotation'] as const)('describes every %s exactly once', (type) => {
  const suffix = `_${type.toUpperCase()}`;
  const declared = Object.entries(names).flatMap(([constant, value]) =>
    constant.endsWith(suffix) ? [value] : [],
  );
  const described = NAME_REFERENCE.filter((each) => each.type === type).map(({ name }) => name);
  expect(described.toSorted()).toEqual(declared.toSorted());
});
