import { expect, it } from 'vitest';
import { requireRoot } from './root.ts';

it('only root may change a node', () => {
  expect(() => requireRoot('/', 1000)).toThrow('run it as root');
  expect(() => requireRoot('/', 0)).not.toThrow();
});

it('another root directory needs the permissions of its files only', () => {
  expect(() => requireRoot('/mnt', 1000)).not.toThrow();
});
