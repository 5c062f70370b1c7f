import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // By `npm run test:kube`.
    exclude: [...configDefaults.exclude, 'test/kube/**'],
    // Most tests wait for processes more than they compute; the default would be one less than there are cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Its second of patience is not enough for a busy machine; who waits for what never comes waits longer.
    expect: { poll: { timeout: 30_000 } },
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]],
  },
});
