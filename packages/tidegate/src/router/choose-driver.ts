import type { Logger, Metrics } from '@tidegate/kube';
import type { Driver, DriverOptions } from '../dataplane/driver.ts';
import { EmbeddedDriver } from '../dataplane/embedded/index.ts';
import { findNginx, NginxDriver } from '../dataplane/nginx/index.ts';

export type DataPlane = 'auto' | 'nginx' | 'embedded';

/** What was asked for is not on this machine; the message says what to do. */
export class MissingDataPlaneError extends Error {
  override readonly name = 'MissingDataPlaneError';
}

/** `auto` is nginx where it is installed. */
export async function chooseDriver(
  dataPlane: DataPlane,
  options: DriverOptions & { accessLog?: string },
  { log, metrics }: { log: Logger; metrics: Metrics },
): Promise<Driver> {
  const chosen = metrics.gauge('tidegate_router_data_plane', {
    help: 'Always 1; what carries the bytes is in its label.',
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
  log.info({ reason: found.missing }, 'the embedded data plane carries the traffic');
  return embedded();
}
