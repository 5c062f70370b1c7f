import type { Logger, Metrics } from '@tidegate/kube';
import type { Driver, DriverOptions } from '../dataplane/driver.ts';
import { EmbeddedDriver } from '../dataplane/embedded/index.ts';
import { findNginx, NginxDriver } from '../dataplane/nginx/index.ts';

/** The value of `--data-plane`. */
export type DataPlane = 'auto' | 'nginx' | 'embedded';

/** The requested data plane is not installed. The message says what to install. */
export class MissingDataPlaneError extends Error {
  override readonly name = 'MissingDataPlaneError';
}

/** `auto` chooses nginx if it is installed, and the embedded data plane otherwise. */
export async function chooseDriver(
  dataPlane: DataPlane,
  options: DriverOptions & { accessLog?: string },
  { log, metrics }: { log: Logger; metrics: Metrics },
): Promise<Driver> {
  const chosen = metrics.gauge('tidegate_router_data_plane', {
    help: 'The data plane in use, in the label `name`. Always 1.',
    labels: ['name'],
  });
  const embedded = (): Driver => {
    chosen.set({ name: 'embedded' }, 1);
    return new EmbeddedDriver(options, { log });
  };
  if (dataPlane === 'embedded') return embedded();
  const found = await findNginx();
  if ('nginx' in found) {
    chosen.set({ name: 'nginx' }, 1);
    return new NginxDriver(options, { log });
  }
  if (dataPlane === 'nginx') throw new MissingDataPlaneError(found.missing);
  log.info({ reason: found.missing }, 'using the embedded data plane');
  return embedded();
}
