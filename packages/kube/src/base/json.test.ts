import { expect, it } from 'vitest';
import { ownField, setField } from './json.ts';

it.each(['constructor', 'toString', '__proto__', 'hasOwnProperty'])('%s is a key like any other', (name) => {
  expect(ownField({}, name)).toBeUndefined();
  const map: Record<string, string> = {};
  setField(map, name, 'value');
  expect(ownField(map, name)).toBe('value');
  expect(Object.getPrototypeOf(map)).toBe(Object.prototype);
});
