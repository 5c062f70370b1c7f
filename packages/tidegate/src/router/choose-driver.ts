import type { Logger, Metrics } from '@tidegate/kube';
import { MOST_SECTIONS } from '../api/index.ts';
import type { Driver, DriverOptions } from '../dataplane/driver.ts';
import { EmbeddedDriver, EmbeddedSections } from '../dataplane/embedded/index.ts';
import { findNginx, NginxDriver } from '../dataplane/nginx/index.ts';
import type { SectionedDriver } from '../dataplane/sections.ts';
import { SharedTable } from '../dataplane/shared-table.ts';

/** The value of `--data-plane`. */
export type DataPlane = 'auto' | 'nginx' | 'embedded';

/** The requested data plane is not installed. The message says what to install. */
export class MissingDataPlaneError extends Error {
  override readonly name = 'MissingDataPlaneError';
}

type ChooserOptions = DriverOptions & { accessLog?: string };

interface Chooser<T> {
  nginx(): T;
  embedded(): T;
}

/** `auto` chooses nginx if it is installed, and the embedded data plane otherwise. */
export const chooseDriver = (
  dataPlane: DataPlane,
  options: ChooserOptions,
  { log, metrics }: { log: Logger; metrics: Metrics },
): Promise<Driver> =>
  choose<Driver>(
    dataPlane,
    { log, metrics },
    {
      nginx: () => new NginxDriver(options, { log }),
      embedded: () => new EmbeddedDriver(options, { log }),
    },
  );

/** The same for pods that several routers share. */
export const chooseSectionedDriver = (
  dataPlane: DataPlane,
  options: ChooserOptions,
  { log, metrics }: { log: Logger; metrics: Metrics },
): Promise<SectionedDriver> =>
  choose<SectionedDriver>(
    dataPlane,
    { log, metrics },
    {
      nginx: () => new SharedTable(new NginxDriver({ ...options, sections: MOST_SECTIONS }, { log })),
      embedded: () => new EmbeddedSections(options, { log }),
    },
  );

async function choose<T>(
  dataPlane: DataPlane,
  { log, metrics }: { log: Logger; metrics: Metrics },
  make: Chooser<T>,
): Promise<T> {
  const chosen = metrics.gauge('tidegate_router_data_plane', {
    help: 'The data plane in use, in the label `name`. Always 1.',
    labels: ['name'],
  });
  const embedded = (): T => {
    chosen.set({ name: 'embedded' }, 1);
    return make.embedded();
  };
  if (dataPlane === 'embedded') return embedded();
  const found = await findNginx();
  if ('nginx' in found) {
    chosen.set({ name: 'nginx' }, 1);
    return make.nginx();
  }
  if (dataPlane === 'nginx') throw new MissingDataPlaneError(found.missing);
  log.info({ reason: found.missing }, 'using the embedded data plane');
  return embedded();
}
