import { readFile } from 'node:fs/promises';
import { type Logger, systemClock } from '@tidegate/kube';
import { Option } from 'commander';
import type { OctaviaProvisioner } from '../dataplane/octavia/index.ts';
import { CommandError } from './process.ts';

export interface OctaviaFlags {
  octavia?: string;
  octaviaCertificates?: string;
  kuryrConf?: string;
}

/** The cloud itself comes from the variables `OS_...` of the environment, as for all tools of OpenStack. */
export const octaviaOptions = (): Option[] => [
  new Option(
    '--octavia <cluster>',
    'provision routers of tidegate.io/octavia in the cloud of clouds.yaml and the environment (OS_CLOUD, OS_AUTH_URL, ...); the name identifies this cluster in the project',
  ),
  new Option(
    '--octavia-certificates <directory>',
    "directory of Octavia's local certificate manager, for classes with the parameter certificates=local",
  ),
  new Option(
    '--kuryr-conf <file>',
    'kuryr.conf with defaults for the subnets of load balancers and floating IPs',
  ),
];

/** A tag of Octavia has at most 255 characters, and the name is a part of names of certificates. */
const CLUSTER = /^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/;

/** Undefined without `--octavia`. Call `close` at the end. */
export async function octaviaProvisioner(
  { octavia: cluster, octaviaCertificates, kuryrConf }: OctaviaFlags,
  log: Logger,
): Promise<{ provisioner: OctaviaProvisioner; close: () => Promise<void> } | undefined> {
  if (cluster === undefined) {
    if (octaviaCertificates !== undefined) throw new CommandError('--octavia-certificates needs --octavia');
    if (kuryrConf !== undefined) throw new CommandError('--kuryr-conf needs --octavia');
    return undefined;
  }
  if (!CLUSTER.test(cluster))
    throw new CommandError(
      '--octavia: write a name of at most 63 lowercase letters, digits, dashes and dots',
    );
  const { OctaviaProvisioner, readCloud, readKuryrConf, Session } = await import(
    '../dataplane/octavia/index.ts'
  );
  const session = new Session(await readCloud(process.env), systemClock);
  const kuryr = kuryrConf === undefined ? undefined : readKuryrConf(await textOf(kuryrConf), kuryrConf);
  const provisioner = new OctaviaProvisioner({
    session,
    cluster,
    clock: systemClock,
    log: log.child({ component: 'octavia' }),
    ...(kuryr !== undefined && { kuryr }),
    ...(octaviaCertificates !== undefined && { certificateDirectory: octaviaCertificates }),
  });
  return { provisioner, close: () => session.close() };
}

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: Error) => {
    throw new CommandError(`--kuryr-conf: cannot read ${path}: ${cause.message}`, { cause });
  });
