import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { silentLogger } from '@tidegate/kube';
import { expect, it } from 'vitest';
import type { AccessLogEntry } from '../access-log.ts';
import { AccessLog } from './access-log.ts';

const entry = (target: string): AccessLogEntry => ({ target, userAgent: 'x'.repeat(8192) }) as AccessLogEntry;

it('drops lines while the disk is full, and continues by itself when there is space', async () => {
  const disk = await smallDisk();
  const file = join(disk.directory, 'access.log');
  const messages: string[] = [];
  const note = (_fields: object, message: string) => void messages.push(message);
  const log = new AccessLog(file, { ...silentLogger, warn: note, error: note });
  const targets = (): string[] =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line.endsWith('}'))
      .map((line) => JSON.parse(line).target);

  log.write(entry('/before'));
  await expect.poll(targets).toEqual(['/before']);
  disk.fill();
  log.write(entry('/lost'));
  const stopped = 'cannot write the access log; dropping lines until it works';
  await expect.poll(() => messages).toEqual([stopped]);
  log.write(entry('/lost too'));

  disk.free();
  await expect.poll(() => messages).toEqual([stopped, 'the access log is written again; lines were lost']);
  log.write(entry('/after'));
  await log.close();
  expect(targets()).toEqual(['/before', '/after']);
});
