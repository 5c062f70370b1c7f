import { defineConfig } from 'vitest/config';
import { sources } from '../../vitest.sources.ts';

/** Not part of `npm test`: these tests need root, and Kubernetes programs that take minutes to build. */
export default defineConfig({
  ...sources,
  test: {
    include: ['test/kube/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 180_000,
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.kube.json' }]],
  },
});
