import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { smallDisk } from '@tidegate/disk/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { findNginx } from './find-nginx.ts';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidegate-find-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

function program(text: string, mode: number): string {
  const path = join(directory, 'nginx');
  writeFileSync(path, text, { mode });
  return path;
}

describe('the search for nginx', () => {
  it('reports that nginx is not installed', async () => {
    expect(await findNginx([join(directory, 'none')])).toEqual({
      reason: 'nginx is not installed',
      missing: expect.stringMatching(/^nginx is not installed: install the packages .* embedded data plane$/),
    });
  });

  it.each([
    ['is not executable', '#!/bin/sh\n', 0o644, 'EACCES'],
    ['fails', '#!/bin/sh\nexit 3\n', 0o755, 'Command failed'],
    ['is damaged', '\u007fELF', 0o755, 'cannot be run'],
  ])('reports an nginx that %s', async (_, text, mode, why) => {
    const path = program(text, mode);
    const found = await findNginx([join(directory, 'none'), path]);
    expect(found).toMatchObject({ reason: expect.stringContaining(`${path} cannot be run (`) });
    expect(found).toMatchObject({ reason: expect.stringContaining(why) });
  });

  it('reports a directory for temporary files that is full, or cannot be written', async () => {
    const disk = await smallDisk();
    disk.fill();
    vi.stubEnv('TMPDIR', disk.directory);
    onTestFinished(() => void vi.unstubAllEnvs());
    const reason = `nginx cannot be run: no space left on the file system of ${disk.directory}: free some space and try again`;
    expect(await findNginx()).toEqual({ reason, missing: `${reason}, or use the embedded data plane` });
    vi.stubEnv('TMPDIR', join(directory, 'none'));
    expect(await findNginx()).toMatchObject({ reason: expect.stringContaining('set TMPDIR to a directory') });
  });

  it('reports an nginx without the Lua module', async () => {
    const path = program(`#!/bin/sh\necho "--modules-path=${directory}/modules" >&2\n`, 0o755);
    expect(await findNginx([path])).toMatchObject({ reason: 'nginx has no Lua module' });
  });
});
