/** `tidegate console` and a browser that shows it. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, chromium, type Page } from 'playwright-core';
import { PATIENCE_MS } from '../support/patience.ts';
import { Tidegate } from '../support/tidegate.ts';

/** Nothing may leave this machine, and nothing may stay on it. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** A running `tidegate console`. */
export class ConsoleProcess extends Tidegate {
  /** `http://127.0.0.1:PORT/#key=...` */
  address = '';

  static async start(...args: string[]): Promise<ConsoleProcess> {
    const started = new ConsoleProcess(['console', ...args]);
    const pattern = /(http:\/\/127\.0\.0\.1:\d+\/#key=\S+)\n/;
    await started.until(({ stdout }) => pattern.test(stdout));
    started.address = pattern.exec(started.stdout)?.[1] ?? '';
    return started;
  }

  get origin(): string {
    return new URL(this.address).origin;
  }
}

/** A page, and everything that went wrong in it. */
export interface Window {
  page: Page;
  /** Exceptions, messages of console.error, violations of the Content-Security-Policy, and requests to other servers. */
  problems: string[];
}

export class TestBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async start(): Promise<TestBrowser> {
    return new TestBrowser(
      await chromium.launch({ executablePath: '/usr/bin/chromium', headless: true, args: FLAGS }),
    );
  }

  /** Opens an address in a profile of its own, without cookies of other pages. */
  async open(address: string, options: Parameters<Browser['newContext']>[0] = {}): Promise<Window> {
    const context = await this.#browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
    const page = await context.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const problems: string[] = [];
    const { origin } = new URL(address);
    page.on('pageerror', (error) => problems.push(String(error)));
    page.on('console', (message) => {
      if (message.type() === 'error') problems.push(message.text());
    });
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== origin) problems.push(`request to ${request.url()}`);
    });
    await page.goto(address);
    return { page, problems };
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

/** Keeps a picture of the page, if the environment variable SCREENSHOTS names a directory. */
export async function screenshot(page: Page, name: string): Promise<void> {
  const directory = process.env.SCREENSHOTS;
  if (directory === undefined) return;
  mkdirSync(directory, { recursive: true });
  await page.screenshot({ path: join(directory, `${name}.png`), fullPage: true });
}
