import { defineConfig } from 'vitest/config';
import { sources } from '../../vitest.sources.ts';

/** Apart from `npm test`: it needs root, and a Kubernetes that takes minutes to build. */
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
