// Run by `npm pack` in the folder of a library: compiles its sources to dist/, JavaScript and type declarations, one
// file each. What else lies in dist/ (schemas, the stand-in) stays.
import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const folder = process.cwd();
const config = join(folder, 'tsconfig.pack.json');
writeFileSync(
  config,
  JSON.stringify({
    extends: '../../tsconfig.json',
    compilerOptions: {
      noEmit: false,
      declaration: true,
      allowImportingTsExtensions: false,
      rewriteRelativeImportExtensions: true,
      rootDir: 'src',
      outDir: 'dist',
      paths: {},
    },
    include: ['src'],
    exclude: ['src/**/*.test.ts', 'src/**/testdata', 'src/**/golden'],
  }),
);
try {
  const tsc = createRequire(import.meta.url).resolve('typescript/bin/tsc');
  execFileSync(process.execPath, [tsc, '-p', config], { stdio: 'inherit' });
} finally {
  rmSync(config);
}
