import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { guard, limits } from './vitest.limits.ts';
import { sources } from './vitest.sources.ts';

export default defineConfig({
  ...sources,
  test: {
    // Tests wait for processes about as long as they compute, so there are more workers than cores.
    maxWorkers: availableParallelism() + 1,
    ...guard,
    ...limits,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]],
    // Modules have no side effects on import. So the test files of a worker share them, instead of loading them again.
    isolate: false,
    projects: [
      {
        extends: true,
        test: { name: 'packages', include: ['packages/*/{src,examples}/**/*.test.ts'] },
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
