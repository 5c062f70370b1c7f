import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type Layout, layoutIn } from './files.ts';
import { withdraw } from './withdraw.ts';

let root: string;
let layout: Layout;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'tidegate-enroll-'));
  layout = layoutIn(root);
  const created = [layout.unit, layout.environment];
  for (const file of [layout.record, ...created]) mkdirSync(dirname(file), { recursive: true });
  writeFileSync(
    layout.record,
    JSON.stringify({ nodeName: 'shop-1', mode: 'systemd', takenOver: [], created }),
  );
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** As systemctl does, it fails for a unit without a file. */
async function systemctl(command: readonly string[]): Promise<void> {
  if (command.includes('disable') && !existsSync(layout.unit))
    throw new Error('Unit file tidegate-hub.service does not exist.');
}

const remove = (): Promise<void> =>
  withdraw({
    layout,
    run: systemctl,
    release: async () => undefined,
    onStep: () => undefined,
    onNote: () => undefined,
  });

it('removes the files of a hub', async () => {
  for (const file of [layout.unit, layout.environment]) writeFileSync(file, '');
  await remove();
  for (const file of [layout.unit, layout.environment, layout.record]) expect(existsSync(file)).toBe(false);
});

it('continues after an installation or a removal that was interrupted, when the unit does not exist', async () => {
  writeFileSync(layout.environment, '');
  await remove();
  for (const file of [layout.environment, layout.record]) expect(existsSync(file)).toBe(false);
});
