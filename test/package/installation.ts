import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../support/process.ts';
import { repositoryFile } from '../support/repository.ts';

/** npm packages that contain nothing but the program `node` of one release line. */
const NODE_RELEASES = [20, 22, 24] as const;
export type NodeRelease = (typeof NODE_RELEASES)[number];
const nodePackage = `node-linux-${process.arch}`;

/** The program as `npm install tidegate` leaves it: packed from this checkout, and installed into an empty folder. */
export class Installation {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<Installation> {
    const folder = await mkdtemp(join(tmpdir(), 'tidegate-package-'));
    const stdout = await run(['npm', 'pack', '--json', '--pack-destination', folder], {
      cwd: repositoryFile('packages/tidegate'),
    });
    const [packed] = JSON.parse(stdout.slice(stdout.indexOf('['))) as { filename: string }[];
    const nodes = NODE_RELEASES.map((release) => `node${release}@npm:${nodePackage}@${release}`);
    await run(['npm', 'init', '-y'], { cwd: folder });
    await run(['npm', 'install', '--no-audit', '--no-fund', `./${packed?.filename}`, ...nodes], {
      cwd: folder,
    });
    return new Installation(folder);
  }

  node(release: NodeRelease): string {
    return join(this.folder, `node_modules/node${release}/bin/node`);
  }

  get program(): string {
    return this.file('bin/tidegate');
  }

  /** A file of the installed package. */
  file(name: string): string {
    return join(this.folder, 'node_modules/tidegate', name);
  }

  async version(): Promise<string> {
    return (JSON.parse(await readFile(this.file('package.json'), 'utf8')) as { version: string }).version;
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
