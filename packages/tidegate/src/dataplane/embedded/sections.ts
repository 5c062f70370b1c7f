import type { Logger } from '@tidegate/kube';
import { sectionPorts } from '../../api/index.ts';
import type { Driver } from '../driver.ts';
import type { SectionedDriver, SectionFacts } from '../sections.ts';
import { AccessLog } from './access-log.ts';
import { Authenticator } from './authenticate.ts';
import { EmbeddedDriver, type EmbeddedOptions } from './driver.ts';
import { Traffic, TrafficMetrics } from './traffic.ts';

/** Several routers in one process. Each has a table and listeners of its own; the registry of metrics and the access log are common. */
export class EmbeddedSections implements SectionedDriver {
  readonly #options: EmbeddedOptions;
  readonly #log: Logger;
  readonly #accessLog: AccessLog | undefined;
  readonly #metrics = new TrafficMetrics();
  /** All sections use the same CPU, and tenants are the same in all of them. */
  readonly #authenticator = new Authenticator();
  readonly #drivers = new Set<EmbeddedDriver>();
  #isClosing = false;

  constructor(options: EmbeddedOptions, { log }: { log: Logger }) {
    const { accessLog } = options;
    this.#options = options;
    this.#log = log;
    this.#accessLog = accessLog === undefined ? undefined : new AccessLog(accessLog, log);
  }

  /** Sections listen one by one, when they start. */
  async start(): Promise<void> {}

  section({ number, identity, className, router }: SectionFacts): Driver {
    const { http, https } = sectionPorts(number);
    const options = { ...this.#options, httpPort: http, httpsPort: https, identity };
    const traffic = new Traffic({ className, router }, this.#accessLog, this.#metrics);
    const driver = new EmbeddedDriver(options, {
      log: this.#log,
      traffic,
      authenticator: this.#authenticator,
    });
    this.#drivers.add(driver);
    return {
      start: (first) => driver.start(first),
      apply: (delta) => driver.apply(delta),
      health: () => driver.health(),
      metrics: async () => '',
      drain: (ms) => driver.drain(ms),
      close: async () => {
        this.#drivers.delete(driver);
        await driver.close();
        traffic.forget();
      },
    };
  }

  health(): { ready: boolean; reasons: string[] } {
    const reasons = this.#isClosing ? ['the data plane accepts no new connections'] : [];
    return { ready: reasons.length === 0, reasons };
  }

  metrics(): Promise<string> {
    return this.#metrics.scrape();
  }

  async drain(ms: number): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#drivers].map((driver) => driver.drain(ms)));
  }

  async close(): Promise<void> {
    this.#isClosing = true;
    await Promise.all([...this.#drivers].map((driver) => driver.close()));
    await this.#accessLog?.close();
  }
}
