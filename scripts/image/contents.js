// Which files of Debian's packages are in the image: programs, what they load by name, and the libraries that these are
// linked with. There is no shell, and no package manager.
import { lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path/posix';
import { ARCHITECTURES } from './definition.js';
import { readElf } from './elf.js';

/** The packages that have the files below. apt adds what they depend on. */
export const PACKAGES = [
  'nodejs',
  'nginx',
  'libnginx-mod-http-lua',
  'lua-resty-core',
  'lua-cjson',
  'iproute2',
  'ca-certificates',
];

/** A name that ends with a slash means all files below it. */
const ROOTS = (triplet) => [
  'usr/bin/node',
  // Debian's Node.js reads these parts of itself from files.
  'usr/share/nodejs/acorn/dist/acorn.js',
  'usr/share/nodejs/acorn-walk/dist/walk.js',
  'usr/share/nodejs/cjs-module-lexer/lexer.js',
  'usr/share/nodejs/cjs-module-lexer/dist/lexer.js',
  'usr/share/nodejs/minimatch/dist/cjs/index.bundle.js',
  'usr/share/nodejs/undici/undici-fetch.js',
  'usr/sbin/nginx',
  'usr/lib/nginx/modules/ndk_http_module.so',
  'usr/lib/nginx/modules/ngx_http_lua_module.so',
  `usr/lib/${triplet}/lua/5.1/cjson.so`,
  'usr/share/lua/5.1/',
  // The hub adds its address to the node.
  'usr/bin/ip',
];

const CERTIFICATES = 'usr/share/ca-certificates/mozilla/';

/** The directories that packages of Debian expect as links, and the C library for its dynamic linker. */
const MERGED = ['bin', 'sbin', 'lib', 'lib64'];

/** Returns the entries of the layer, and the packages that they come from. */
export function selectFiles(packages, architecture) {
  const available = new Available(packages, ARCHITECTURES[architecture]);
  for (const name of ROOTS(ARCHITECTURES[architecture])) available.keep(name);
  const kept = available.keptPackages();
  // Licences ask that copies contain them.
  for (const each of kept) available.keepLicense(each);
  const certificates = available.namesIn(CERTIFICATES).map((name) => available.read(name).toString().trim());
  return {
    packages: [...kept, ...packages.filter(({ name }) => name === 'ca-certificates')],
    entries: [
      ...available.entries(),
      ...MERGED.map((name) => ({ path: name, link: `usr/${name}` })),
      ...FIXED,
      { path: 'etc/ssl/certs/ca-certificates.crt', content: Buffer.from(`${certificates.join('\n')}\n`) },
    ],
  };
}

const text = (path, ...lines) => ({ path, content: Buffer.from(`${lines.join('\n')}\n`) });

const FIXED = [
  text('etc/passwd', 'root:x:0:0:root:/:/', 'nonroot:x:65532:65532:nonroot:/tmp:/'),
  text('etc/group', 'root:x:0:', 'nonroot:x:65532:'),
  text('etc/nsswitch.conf', 'hosts: files dns'),
  ...['dev', 'proc', 'sys'].map((path) => ({ path })),
  { path: 'tmp', mode: 0o1777 },
  // nginx opens its built-in log before it reads its configuration.
  { path: 'var/log/nginx', mode: 0o755 },
  { path: 'var/lib/nginx', mode: 0o755 },
];

/** The files of all packages as one tree, and those that are kept of it. */
class Available {
  #places = new Map();
  #kept = new Map();
  #libraries;

  constructor(packages, triplet) {
    this.#libraries = [`usr/lib/${triplet}`, 'usr/lib', 'usr/lib64'];
    for (const each of packages)
      for (const name of filesBelow(each.folder)) this.#places.set(merged(name), { package: each, name });
  }

  namesIn(folder) {
    return [...this.#places.keys()].filter((name) => name.startsWith(folder)).sort();
  }

  read(name) {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`no package of Debian contains ${name}`);
    return readFileSync(join(place.package.folder, place.name));
  }

  /** Keeps a file, the target if it is a link, and its libraries. */
  keep(name) {
    if (name.endsWith('/')) {
      for (const each of this.namesIn(name)) this.keep(each);
      return;
    }
    if (this.#kept.has(name)) return;
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`no package of Debian contains ${name}`);
    const path = join(place.package.folder, place.name);
    const stat = lstatSync(path);
    if (stat.isSymbolicLink()) {
      const link = readlinkSync(path);
      this.#kept.set(name, { path: name, link, package: place.package });
      this.keep(link.startsWith('/') ? merged(link.slice(1)) : merged(join(dirname(name), link)));
      return;
    }
    const content = readFileSync(path);
    this.#kept.set(name, {
      path: name,
      content,
      mode: stat.mode & 0o111 ? 0o755 : 0o644,
      package: place.package,
    });
    const elf = readElf(content);
    if (elf?.interpreter !== undefined) this.keep(merged(elf.interpreter.slice(1)));
    for (const library of elf?.needed ?? []) this.keep(this.#find(library, name));
  }

  /** Packages of one source may share a folder of documents: a package then has a link to that of another. */
  keepLicense({ name, folder }) {
    const documents = `usr/share/doc/${name}`;
    const shared = this.#places.has(documents) ? readlinkSync(join(folder, documents)) : name;
    this.keep(`usr/share/doc/${shared}/copyright`);
  }

  entries() {
    return [...this.#kept.values()].map(({ package: _, ...entry }) => entry);
  }

  keptPackages() {
    return [...new Set([...this.#kept.values()].map((entry) => entry.package))].sort((a, b) =>
      a.name < b.name ? -1 : 1,
    );
  }

  #find(library, user) {
    const found = this.#libraries
      .map((folder) => `${folder}/${library}`)
      .find((name) => this.#places.has(name));
    if (found === undefined)
      throw new Error(`${user} needs ${library}, and no package of Debian contains it`);
    return found;
  }
}

/** Older packages have files in /lib, which is a link to /usr/lib. */
const merged = (name) =>
  MERGED.some((each) => name.startsWith(`${each}/`)) ? `usr/${name}` : normalize(name);

const filesBelow = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
