import { configDefaults, defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts', 'test/**/*.test.ts'],
    // By `npm run test:kube`.
    exclude: [...configDefaults.exclude, 'test/kube/**'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]],
  },
});
