import { defineConfig } from 'vitest/config';
import { guard, limits } from '../../vitest.limits.ts';
import { sources } from '../../vitest.sources.ts';

/** Not part of `npm test`: these tests need root, and Kubernetes programs that take minutes to build. */
export default defineConfig({
  ...sources,
  test: {
    include: ['test/image/**/*.test.ts', 'test/kube/**/*.test.ts'],
    fileParallelism: false,
    ...guard,
    ...limits,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.kube.json' }]],
  },
});
