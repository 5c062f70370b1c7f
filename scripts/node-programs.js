// The programs of a Kubernetes node that `scripts/build-kubernetes` does not build: containerd, runc, the network plugins and
// a static busybox, from Debian's packages. Nothing is installed. Prints the folder with their files.
import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fetchPackages } from './image/debian.js';

/** Programs of an older suite run on a newer one, but not the other way round. */
const SUITE = 'bookworm';
const PACKAGES = ['containerd', 'runc', 'containernetworking-plugins', 'busybox-static'];
/** These must fit to the machine, which has its own. */
const OF_THE_MACHINE = /^(?:libc6|libgcc-s1|gcc-\d+-base)$/;

const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
const packages = fetchPackages(PACKAGES, SUITE, architecture).filter(
  ({ name }) => !OF_THE_MACHINE.test(name),
);
const versions = packages.find(({ name }) => name === 'containerd').version.replaceAll(/[^\w.]/g, '-');
const folder = join(
  process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
  `tidegate/node-programs/${SUITE}-${architecture}-${versions}`,
);
if (!existsSync(folder)) {
  const partial = `${folder}.${process.pid}`;
  mkdirSync(partial, { recursive: true });
  for (const each of packages) cpSync(each.folder, partial, { recursive: true, verbatimSymlinks: true });
  try {
    renameSync(partial, folder);
  } catch (error) {
    // Another process was faster.
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    rmSync(partial, { recursive: true });
  }
}
console.log(folder);
