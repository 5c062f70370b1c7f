import { expect, test } from 'vitest';
import { runsCommands } from './run-commands.ts';

const USER = 1000;
const ROOT = 0;

test('commands run only if the user asks for it', () => {
  expect(runsCommands({}, USER)).toBe(false);
  expect(runsCommands({}, ROOT)).toBe(false);
  expect(runsCommands({ runCommands: true }, USER)).toBe(true);
});

test('root must allow it explicitly', () => {
  expect(() => runsCommands({ runCommands: true }, ROOT)).toThrow(
    'use --run-commands-as-root if you trust all manifests',
  );
  expect(runsCommands({ runCommandsAsRoot: true }, ROOT)).toBe(true);
});
