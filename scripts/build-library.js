// Run by `npm pack` in the folder of a library: compiles its sources to dist/, one JavaScript file and one type
// declaration for each source. The libraries of this workspace that it depends on are compiled first, because it is
// type-checked against their declarations, as it will be after installation.
import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { basename, join } from 'node:path';

const packages = join(import.meta.dirname, '../packages');
const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');

/** Made by scripts/build.js, not compiled from one source. They must be in the package and survive this script. */
const BUILT_ELSEWHERE = {
  envtest: ['schemas/definitions.json', 'schemas/descriptions.json', 'node/stand-in.js'],
};

function build(name, done = new Set()) {
  if (done.has(name)) return;
  done.add(name);
  const folder = join(packages, name);
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  for (const dependency of Object.keys(manifest.dependencies ?? {})) {
    if (dependency.startsWith('@tidegate/')) build(basename(dependency), done);
  }
  const elsewhere = BUILT_ELSEWHERE[name] ?? [];
  for (const file of elsewhere) {
    if (!existsSync(join(folder, 'dist', file)))
      throw new Error(`dist/${file} is missing: run "npm run build" first`);
  }
  removeStale(folder, elsewhere);
  compile(folder, manifest);
  // Git ignores the copy.
  copyFileSync(join(packages, '../LICENSE'), join(folder, 'LICENSE'));
}

/** Removes the output of earlier runs, so that a source that was deleted or moved is not packed. */
function removeStale(folder, keep) {
  const dist = join(folder, 'dist');
  if (!existsSync(dist)) return;
  for (const file of readdirSync(dist, { recursive: true })) {
    if (/\.(js|d\.ts)$/.test(file) && !keep.includes(file)) rmSync(join(dist, file));
  }
}

function compile(folder, manifest) {
  const config = join(folder, 'tsconfig.pack.json');
  // Helpers of tests need development dependencies. Some packages offer them to other packages as an entry point.
  const testHelpers = './testing' in manifest.exports ? [] : ['src/**/testing.ts', 'src/**/testing'];
  writeFileSync(
    config,
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: {
        noEmit: false,
        declaration: true,
        allowImportingTsExtensions: false,
        rewriteRelativeImportExtensions: true,
        // Without the condition tidegate-source, other packages resolve to their compiled declarations.
        customConditions: [],
        rootDir: 'src',
        outDir: 'dist',
      },
      include: ['src'],
      exclude: ['src/**/*.test.ts', 'src/**/testdata', 'src/**/golden', ...testHelpers],
    }),
  );
  try {
    execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' });
  } finally {
    rmSync(config);
  }
}

build(basename(process.cwd()));
