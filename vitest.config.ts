import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { sources } from './vitest.sources.ts';

export default defineConfig({
  ...sources,
  test: {
    // Most tests wait for processes more than they compute; the default would be one less than there are cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Its second of patience is not enough for a busy machine; who waits for what never comes waits longer.
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]],
    projects: [
      // Nothing happens at import time in the packages, so their tests share what was imported: half the time.
      {
        extends: true,
        test: { name: 'packages', include: ['packages/*/{src,examples}/**/*.test.ts'], isolate: false },
      },
      {
        extends: true,
        // Run by `npm run test:kube` and `npm run test:package`.
        test: {
          name: 'end to end',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, 'test/kube/**', 'test/package/**'],
        },
      },
    ],
  },
});
