import { availableParallelism } from 'node:os';
import { configDefaults, defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { guard, limits } from './vitest.limits.ts';
import { LONG } from './vitest.long.ts';
import { sources } from './vitest.sources.ts';

/** End-to-end tests take seconds to minutes. They start first, so that no core is idle at the end. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isEndToEnd = ({ moduleId }: TestSpecification): boolean =>
      moduleId.startsWith(`${import.meta.dirname}/test/`);
    const sorted = await super.sort(files);
    return [...sorted.filter(isEndToEnd), ...sorted.filter((file) => !isEndToEnd(file))];
  }
}

export default defineConfig({
  ...sources,
  test: {
    // Unit tests and end-to-end tests are one project: a second one would transform and load all sources again.
    include: ['packages/*/{src,examples}/**/*.test.ts', 'test/**/*.test.ts'],
    // Run by `npm run test:kube`, `npm run test:long`, `npm run test:octavia` and `npm run test:package`.
    exclude: [
      ...configDefaults.exclude,
      ...LONG,
      ...['image', 'kube', 'octavia', 'package'].map((folder) => `test/${folder}/**`),
    ],
    sequence: { sequencer: LongestFirst },
    // Tests wait for processes about as long as they compute, so there are more workers than cores.
    maxWorkers: availableParallelism() + 2,
    ...guard,
    ...limits,
    reporters: ['default', ['json', { outputFile: 'node_modules/.vitest/report.json' }]],
    // Modules have no side effects on import. So the test files of a worker share them, instead of loading them again.
    isolate: false,
  },
});
