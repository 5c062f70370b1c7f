/** Every command block of the README, the tutorial and the guide for provisioners runs, in order, and prints what the page shows. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { Page } from './page.ts';

describe.each(['README.md', 'docs/tutorial.md', 'docs/guides/write-a-provisioner.md'])('%s', (name) => {
  let page: Page;
  beforeAll(async () => {
    page = await Page.open(name);
  });
  afterAll(async () => page?.close());

  test('runs all command blocks in order', async () => {
    expect(page.blocks.length).toBeGreaterThan(3);
    for (const block of page.blocks) await page.run(block);
    // A page has many commands, each of which may wait.
  }, 1_800_000);
});
