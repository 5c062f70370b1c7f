import { defineConfig } from 'vitest/config';
import { guard, limits } from '../../vitest.limits.ts';
import { sources } from '../../vitest.sources.ts';

/** Not part of `npm test`: these tests need Debian's packages of OpenStack, which are downloaded once. */
export default defineConfig({
  ...sources,
  test: {
    include: ['test/octavia/**/*.test.ts'],
    fileParallelism: false,
    ...guard,
    ...limits,
    // Programming a load balancer takes hundreds of calls, which are slow on a busy machine.
    hookTimeout: 1_800_000,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.octavia.json' }]],
  },
});
