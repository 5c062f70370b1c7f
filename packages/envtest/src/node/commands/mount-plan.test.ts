import { describe, expect, test } from 'vitest';
import { parseMounts } from './machine-files.ts';
import { type MachineFiles, type Mount, planMounts } from './mount-plan.ts';

/** A machine on which /var/run is a link to /run. */
const MACHINE: MachineFiles = {
  list: (directory) =>
    ({
      '/': [
        { name: 'bin', isDirectory: false, target: 'usr/bin' },
        { name: 'dev', isDirectory: true },
        { name: 'etc', isDirectory: true },
        { name: 'home', isDirectory: true },
        { name: 'proc', isDirectory: true },
        { name: 'run', isDirectory: true },
        { name: 'tmp', isDirectory: true },
        { name: 'usr', isDirectory: true },
        { name: 'var', isDirectory: true },
      ],
      '/dev': [
        { name: 'null', isDirectory: false },
        { name: 'sda', isDirectory: false },
      ],
      '/etc': [
        { name: 'passwd', isDirectory: false },
        { name: 'localtime', isDirectory: false, target: '/usr/share/zoneinfo/UTC' },
      ],
      '/run': [{ name: 'lock', isDirectory: true }],
      '/var': [
        { name: 'lib', isDirectory: true },
        { name: 'run', isDirectory: false, target: '/run' },
      ],
    })[directory] ?? [],
  resolve: (path) => path.replace(/^\/var\/run(?=\/|$)/, '/run'),
  mounts: () => [
    { path: '/', flags: [] },
    { path: '/proc', flags: ['nosuid', 'nodev', 'noexec'] },
    { path: '/home', flags: ['nosuid'] },
    { path: '/usr/local', flags: ['nodev'] },
  ],
};

const mount = (path: string, fields: Partial<Mount> = {}): Mount => ({
  source: `/state/volumes${path}`,
  path,
  isDirectory: true,
  readOnly: false,
  ...fields,
});

const plan = (mounts: Mount[] = [], directories: string[] = []) => planMounts(MACHINE, mounts, directories);

describe('the root of a container', () => {
  test('has the directories of the machine, read-only with the mounts below them', () => {
    const { entries, binds } = plan();
    expect(entries).toContainEqual({ path: '/bin', link: 'usr/bin' });
    expect(binds).toContainEqual({ source: '/usr', path: '/usr', options: 'rbind,ro' });
    expect(binds).toContainEqual({ source: 'none', path: '/usr/local', options: 'remount,bind,ro,nodev' });
    expect(binds).toContainEqual({ source: '/home', path: '/home', options: 'rbind,ro,nosuid' });
    expect(binds).toContainEqual({ source: '/proc', path: '/proc', options: 'rbind' });
  });

  test('has its own directories for temporary files, and only the usual devices', () => {
    const { entries, binds } = plan();
    expect(entries).toContainEqual({ path: '/tmp', isDirectory: true });
    expect(binds.map(({ path }) => path)).not.toContain('/tmp');
    expect(entries).toContainEqual({ path: '/dev/null', link: '/.machine/dev/null' });
    expect(entries.map(({ path }) => path)).not.toContain('/dev/sda');
  });

  test('opens the directories above a mount', () => {
    const { entries, binds } = plan([mount('/etc/config', { readOnly: true })]);
    expect(entries).toContainEqual({ path: '/etc/config', isDirectory: true });
    expect(entries).toContainEqual({ path: '/etc/passwd', link: '/.machine/etc/passwd' });
    expect(entries).toContainEqual({ path: '/etc/localtime', link: '/usr/share/zoneinfo/UTC' });
    expect(binds).toContainEqual({ source: '/etc', path: '/.machine/etc', options: 'rbind,ro' });
    expect(binds.at(-1)).toEqual({
      source: '/state/volumes/etc/config',
      path: '/etc/config',
      options: 'rbind,ro',
    });
  });

  test('follows the links of the machine on the way to a mount', () => {
    const { entries, binds } = plan([mount('/var/run/secrets/token')]);
    expect(entries).toContainEqual({ path: '/var/run', link: '/run' });
    expect(entries).toContainEqual({ path: '/run/secrets/token', isDirectory: true });
    expect(binds.at(-1)).toMatchObject({ path: '/run/secrets/token' });
  });

  test('has files as mounts, and the working directory if the machine has none', () => {
    const { entries } = plan(
      [mount('/dev/termination-log', { isDirectory: false })],
      ['/srv/app', '/var/lib'],
    );
    expect(entries).toContainEqual({ path: '/dev/termination-log', isDirectory: false });
    expect(entries).toContainEqual({ path: '/srv/app', isDirectory: true });
    expect(entries).not.toContainEqual({ path: '/var/lib', isDirectory: true });
  });

  test('does not show the temporary files of the machine on the way to a mount in /tmp', () => {
    const { entries } = plan([mount('/tmp/state/volumes/a')]);
    expect(entries).toContainEqual({ path: '/tmp/state/volumes', isDirectory: true });
    expect(entries.filter(({ path }) => path.startsWith('/.machine/tmp'))).toEqual([]);
  });
});

test('the mounts of the machine keep their restrictions, and the last mount at a path counts', () => {
  const text = [
    '22 1 0:21 / /proc rw,nosuid,nodev,noexec,relatime shared:5 - proc proc rw',
    '30 1 8:1 / /mnt/my\\040disk rw,nosuid - ext4 /dev/sda1 rw',
    '31 30 8:2 / /mnt/my\\040disk rw - ext4 /dev/sda2 rw',
    '',
  ].join('\n');
  expect(parseMounts(text)).toEqual([
    { path: '/proc', flags: ['nosuid', 'nodev', 'noexec'] },
    { path: '/mnt/my disk', flags: [] },
  ]);
});
