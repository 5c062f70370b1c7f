// Debian packages, without root and without installing them: apt resolves the dependencies for an empty system of the wanted
// architecture, and dpkg-deb unpacks. No script of a package runs.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const DAY_MS = 24 * 3600 * 1000;

/**
 * Downloads the packages and everything that they depend on. Returns for each its name, version, checksum and the folder
 * with its files.
 */
export function fetchPackages(names, suite, architecture, { refresh = false } = {}) {
  const { cache, apt } = openCache(suite, architecture, refresh);
  const closure = known(cache, names, () => {
    apt('install', '--yes', '--download-only', ...names);
    return closureOf(apt, ...names);
  });
  return closure.map((each) => unpack(cache, each));
}

/** The packages and everything that they depend on. */
const closureOf = (apt, ...names) =>
  [...apt('install', '--simulate', ...names).matchAll(/^Inst (\S+) \((\S+) .*\[(\w+)\]\)/gm)].map(
    ([, name, version, architecture]) => ({ name, version, architecture }),
  );

/** Asks apt only if the lists of packages are newer than its last answer, because it needs seconds to read them. */
function known(cache, names, resolve) {
  const file = join(
    cache,
    `closure-${createHash('sha256').update(names.join(' ')).digest('hex').slice(0, 12)}.json`,
  );
  const isCurrent = existsSync(file) && statSync(file).mtimeMs >= statSync(join(cache, 'updated')).mtimeMs;
  const stored = isCurrent ? JSON.parse(readFileSync(file, 'utf8')) : [];
  if (stored.length > 0 && stored.every((each) => existsSync(archiveOf(cache, each)))) return stored;
  const closure = resolve();
  const partial = `${file}.${process.pid}`;
  writeFileSync(partial, JSON.stringify(closure));
  renameSync(partial, file);
  return closure;
}

/** Downloads one package without its dependencies, and returns the folder with its files. For programs that are linked statically. */
export function fetchPackage(name, suite, architecture) {
  const { cache, apt } = openCache(suite, architecture);
  const [found] = known(cache, [name, 'alone'], () => {
    apt('download', name);
    return closureOf(apt, name).filter((each) => each.name === name);
  });
  return unpack(cache, found).folder;
}

/** The packages of a suite, with lists that are at most a day old. */
function openCache(suite, architecture, refresh = false) {
  const cache = join(
    process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'),
    `tidegate/image/${suite}-${architecture}`,
  );
  const apt = privateApt(cache, architecture);
  const updated = join(cache, 'updated');
  if (refresh || !existsSync(updated) || Date.now() - statSync(updated).mtimeMs > DAY_MS) {
    useMirror(cache, suite, apt);
    writeFileSync(updated, '');
  }
  return { cache, apt };
}

/** A configuration of its own: the packages, sources and architecture of the machine do not matter. */
function privateApt(cache, architecture) {
  for (const folder of ['lists/partial', 'archives/partial', 'files'])
    mkdirSync(join(cache, folder), { recursive: true });
  writeFileSync(join(cache, 'status'), '');
  const options = {
    'Dir::Etc::SourceList': join(cache, 'sources.list'),
    'Dir::Etc::SourceParts': '/dev/null',
    'Dir::State::Lists': join(cache, 'lists'),
    'Dir::State::status': join(cache, 'status'),
    'Dir::Cache': cache,
    'Dir::Cache::archives': join(cache, 'archives'),
    'Dir::Log': cache,
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Install-Recommends': 'false',
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'Acquire::Retries': '3',
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  // Another build may use the same cache. apt itself fails at once in that case.
  const inCache = ['flock', join(cache, 'lock'), 'env', `--chdir=${join(cache, 'archives')}`];
  return (...args) => run(...inCache, 'apt-get', '--quiet', ...flags, ...args);
}

/** The suite comes from a mirror in the configuration of the machine, with security updates if a mirror has them. */
function useMirror(cache, suite, apt) {
  const sites = [...new Set(run('apt-get', 'indextargets', '--format', '$(SITE)').split('\n'))].filter(
    Boolean,
  );
  const signed = existsSync(KEYRING) ? `[signed-by=${KEYRING}] ` : '';
  const security = sites.filter((site) => site.endsWith('-security'));
  const failures = [];
  for (const site of sites.filter((each) => !security.includes(each))) {
    const lines = [`deb ${signed}${site} ${suite} main`, `deb ${signed}${site} ${suite}-updates main`];
    lines.push(...security.map((each) => `deb ${signed}${each} ${suite}-security main`));
    writeFileSync(join(cache, 'sources.list'), `${lines.join('\n')}\n`);
    try {
      apt('update');
      return;
    } catch (error) {
      failures.push(error.message);
    }
  }
  throw new Error(
    `none of the mirrors in the configuration of apt has the Debian suite ${suite}: ${failures.join('; ')}`,
  );
}

const fileOf = ({ name, version, architecture }) =>
  `${name}_${version.replaceAll(':', '%3a')}_${architecture}`;
const archiveOf = (cache, each) => join(cache, 'archives', `${fileOf(each)}.deb`);

function unpack(cache, each) {
  const { name, version, architecture } = each;
  const archive = archiveOf(cache, each);
  const folder = join(cache, 'files', fileOf(each));
  const isComplete = `${folder}.complete`;
  if (!existsSync(isComplete)) {
    rmSync(folder, { recursive: true, force: true });
    run('dpkg-deb', '--extract', archive, folder);
    writeFileSync(isComplete, '');
  }
  const sha256 = createHash('sha256').update(readFileSync(archive)).digest('hex');
  return { name, version, architecture, sha256, folder };
}

function run(program, ...args) {
  try {
    return execFileSync(program, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  } catch (error) {
    const reason = error.code === 'ENOENT' ? `${program} is not installed` : lastLine(error.stderr);
    throw new Error(`the packages of Debian cannot be fetched: ${reason || error.message}`, { cause: error });
  }
}

const lastLine = (text) => `${text}`.trim().split('\n').at(-1);
