import { expect, test } from 'vitest';
import { freePorts } from './ports.ts';

test('finds ports that differ from each other', async () => {
  const ports = await freePorts('127.0.0.1', 500);
  expect(new Set(ports).size).toBe(500);
});
