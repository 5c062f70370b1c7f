import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';
import { guard, limits } from './vitest.limits.ts';
import { LONG } from './vitest.long.ts';
import { sources } from './vitest.sources.ts';

export default defineConfig({
  ...sources,
  test: {
    include: LONG,
    maxWorkers: availableParallelism() + 1,
    ...guard,
    ...limits,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.long.json' }]],
    isolate: false,
  },
});
