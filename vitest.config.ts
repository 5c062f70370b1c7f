import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { sources } from './vitest.sources.ts';

export default defineConfig({
  ...sources,
  test: {
    // Most tests wait for processes more than they compute, so at least two workers run. The default is one less than
    // the number of cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // The default of one second is too short on a busy machine. Only failing tests wait for the whole time.
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]],
    projects: [
      // Modules of the packages have no side effects on import. So test files share imported modules, which halves the
      // run time.
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
