import { expect, it } from 'vitest';
import { run } from '../../../test/support/process.ts';
import { quotePath } from './quote-path.ts';

it('leaves a plain path as it is', () => {
  expect(quotePath('/home/me/.tidegate/node-a_1')).toBe('/home/me/.tidegate/node-a_1');
});

it.each(['/my folder', "/it's", '/a"b', '/$HOME', '/a\\b', '/a;b', '/*', '~/x', '', '/straße'])(
  'gives %j to a program as one word',
  async (path) => {
    expect(await run(['sh', '-c', `printf %s ${quotePath(path)}`])).toBe(path);
  },
);
