import { defineConfig } from 'vitest/config';
import { sources } from '../../vitest.sources.ts';

/** Apart from `npm test`: it installs the packed program and other versions of Node from npm. */
export default defineConfig({
  ...sources,
  test: {
    include: ['test/package/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 300_000,
    hookTimeout: 300_000,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.package.json' }]],
  },
});
