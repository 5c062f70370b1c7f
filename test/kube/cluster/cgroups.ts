/** The control groups of the nodes. They are directories of the kernel, and the watchdog of the run removes them too. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '../../support/cluster.ts';

const ROOT = '/sys/fs/cgroup';
/** The watchdog of the test run removes the groups that are listed here (test/guard). */
const listed = (name: string): string => join(tmpdir(), 'cgroups', name);

/** Version 1 has a hierarchy for each controller, version 2 has one. */
const isVersion2 = existsSync(join(ROOT, 'cgroup.controllers'));
const hierarchies = (): string[] =>
  isVersion2
    ? [ROOT]
    : readdirSync(ROOT, { withFileTypes: true })
        .filter((entry) => entry.isDirectory() && entry.name !== 'unified')
        .map((entry) => join(ROOT, entry.name));

export class Cgroups {
  /** Relative to each hierarchy. */
  readonly name: string;

  /** The name has the process id, because tests may run several times on a machine. */
  constructor() {
    this.name = `tidegate-${process.pid}`;
    mkdirSync(join(tmpdir(), 'cgroups'), { recursive: true });
    writeFileSync(listed(this.name), '');
  }

  /** Creates the group of a node, and returns its name. */
  add(node: string): string {
    const group = join(this.name, node);
    for (const hierarchy of hierarchies()) {
      for (const each of [this.name, group]) {
        const folder = join(hierarchy, each);
        mkdirSync(folder, { recursive: true });
        prepare(hierarchy, folder);
      }
    }
    return `/${group}`;
  }

  /** Removes the groups of a node, or of all nodes. Processes that were killed leave them a moment later. */
  async remove(node = ''): Promise<void> {
    await eventually('the control groups are empty', () => {
      for (const hierarchy of hierarchies()) removeAll(join(hierarchy, this.name, node));
      return true;
    });
  }
}

function prepare(hierarchy: string, folder: string): void {
  if (isVersion2) {
    const controllers = readFileSync(join(hierarchy, 'cgroup.controllers'), 'utf8').trim().split(' ');
    writeFileSync(
      join(folder, '..', 'cgroup.subtree_control'),
      controllers.map((each) => `+${each}`).join(' '),
    );
  }
  // A new cpuset has no processors, and takes no processes.
  for (const file of ['cpuset.cpus', 'cpuset.mems']) {
    if (!isVersion2 && existsSync(join(folder, file)))
      writeFileSync(join(folder, file), readFileSync(join(folder, '..', file), 'utf8'));
  }
}

function removeAll(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeAll(join(folder, entry.name));
  rmdirSync(folder);
}
