// Prometheus and promtool from Debian's package, for tests. Nothing is installed. Prints the folder with the programs.
import { join } from 'node:path';
import { fetchPackage } from './image/debian.js';

const architecture = process.arch === 'x64' ? 'amd64' : process.arch;
console.log(join(fetchPackage('prometheus', 'bookworm', architecture), 'usr/bin'));
