import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { FrontDoor } from './front-doors.ts';
import { isOpen } from './open-doors.ts';

async function serve(): Promise<string> {
  const server = createServer((_, response) => response.end('ok\n'));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

const door = (urls: string[]): FrontDoor => ({
  name: 'paris',
  ingressClass: 'gold',
  ready: 'True',
  urls,
  hosts: ['shop.example.com'],
  rules: 1,
  problems: 0,
});

it('counts a front door as open only if it answers at every URL', async () => {
  const [first, second] = [await serve(), await serve()];
  expect(await isOpen(door([first, second]))).toBe(true);
  expect(await isOpen(door([first, second.replace(/\d+$/, '1')]))).toBe(false);
});
