import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('shows the controller of the examples in the README', () => {
  const readme = readFileSync(new URL('../README.md', import.meta.url), 'utf8');
  const source = readFileSync(new URL('../examples/team-controller.ts', import.meta.url), 'utf8');
  expect(readme).toContain(`\`\`\`ts\n${source}\`\`\``);
});
