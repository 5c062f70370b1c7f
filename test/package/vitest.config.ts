import { defineConfig } from 'vitest/config';
import { guard, limits } from '../../vitest.limits.ts';
import { sources } from '../../vitest.sources.ts';

/** Apart from `npm test`: it installs the packed program and two more versions of Node from npm. */
export default defineConfig({
  ...sources,
  test: {
    include: ['test/package/**/*.test.ts'],
    fileParallelism: false,
    ...guard,
    ...limits,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.package.json' }]],
  },
});
