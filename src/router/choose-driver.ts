import type { Driver, DriverOptions } from '../dataplane/driver.ts';
import { EmbeddedDriver } from '../dataplane/embedded/index.ts';
import { findNginx, NginxDriver } from '../dataplane/nginx/index.ts';
import type { Logger } from '../kube/index.ts';

export type DataPlane = 'auto' | 'nginx' | 'embedded';

/** What was asked for is not on this machine; the message says what to do. */
export class MissingDataPlaneError extends Error {
  override readonly name = 'MissingDataPlaneError';
}

/** `auto` is nginx where it is installed. */
export async function chooseDriver(
  dataPlane: DataPlane,
  options: DriverOptions & { accessLog?: string },
  logger: Logger,
): Promise<Driver> {
  const embedded = (): Driver => new EmbeddedDriver(options, { logger });
  if (dataPlane === 'embedded') return embedded();
  const found = await findNginx();
  if ('nginx' in found) return new NginxDriver(options, { logger });
  if (dataPlane === 'nginx') throw new MissingDataPlaneError(found.missing);
  logger.info({ reason: found.missing }, 'the embedded data plane carries the traffic');
  return embedded();
}
