import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Cluster } from '../support/cluster.ts';
import { ConsoleProcess, screenshot, TestBrowser, type Window } from './browser.ts';

describe('the console of an embedded cluster', () => {
  let cluster: Cluster;
  let server: ConsoleProcess;
  let browser: TestBrowser;
  let window: Window;

  beforeAll(async () => {
    [cluster, browser] = await Promise.all([Cluster.start(), TestBrowser.start()]);
    server = await ConsoleProcess.start('--state', cluster.state);
    window = await browser.open(server.address);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.kill('SIGTERM');
    await cluster?.stop();
  });

  it('shows every pool with its link, nodes and front door', async () => {
    const { page } = window;
    for (const pool of ['hangzhou', 'beijing']) {
      const card = page.getByRole('article', { name: `Pool ${pool}` }).first();
      await card.getByText('in step').waitFor();
      await card.getByText(`Front door ${pool}`).waitFor();
    }
    await page.getByRole('listitem', { name: 'node-a: ready' }).first().waitFor();
    await screenshot(page, 'map-light');
  });

  it('removes the key from the address, and opens again without it', async () => {
    const { page } = window;
    expect(page.url()).toBe(`${server.origin}/#/map`);
    await page.reload();
    await page.getByRole('article', { name: 'Pool hangzhou' }).first().waitFor();
    // Browsers would send it to every other port of this address.
    expect(await page.context().cookies()).toEqual([]);
  });

  it('shows a cut and a mend as they happen', async () => {
    const card = window.page.getByRole('article', { name: 'Pool hangzhou' }).first();
    await cluster.tidegate('cut', 'location=hangzhou');
    await card.getByText(/^cut/).waitFor();
    await screenshot(window.page, 'map-cut');
    await cluster.tidegate('mend', '--all');
    await card.getByText('in step').waitFor();
  });

  it('finds pools by the names of their nodes', async () => {
    const { page } = window;
    await page.keyboard.press('/');
    await page.keyboard.type('node-c');
    await page.getByRole('article', { name: 'Pool hangzhou' }).first().waitFor({ state: 'hidden' });
    expect(await page.getByRole('article', { name: 'Pool beijing' }).count()).toBeGreaterThan(0);
    await page.getByRole('searchbox').fill('');
  });

  it('causes no error and no request to another server', () => {
    expect(window.problems).toEqual([]);
  });
});
