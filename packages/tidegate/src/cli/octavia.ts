import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Logger, silentLogger, systemClock } from '@tidegate/kube';
import { Option } from 'commander';
import type { OctaviaProvisioner } from '../dataplane/octavia/index.ts';
import type { Provisioner } from '../ingress/index.ts';
import type { Part } from '../manager/index.ts';
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
    'provision routers of tidegate.io/octavia in the cloud of clouds.yaml and the environment (OS_CLOUD, OS_AUTH_URL, ...); the name identifies this cluster in the project. Only the part routers needs it',
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

interface Opened<T> {
  readonly provisioner: T;
  /** Call it at the end. */
  readonly close: () => Promise<void>;
}

/**
 * The provisioner for the parts of a manager. Only the part `routers` talks to the cloud: the others know the parameters
 * of classes, and get no credentials.
 */
export async function provisionerFor(
  parts: readonly Part[],
  flags: OctaviaFlags,
  log: Logger,
): Promise<Opened<Provisioner>> {
  const opened = parts.includes('routers') ? await octaviaProvisioner(flags, log) : undefined;
  if (opened !== undefined) return opened;
  const { NOT_CONFIGURED } = await import('../dataplane/octavia/index.ts');
  return { provisioner: NOT_CONFIGURED, close: async () => {} };
}

/** Undefined without `--octavia`. A flag with an empty value counts as absent: the chart always passes all of them. */
export async function octaviaProvisioner(
  { octavia: cluster, octaviaCertificates, kuryrConf }: OctaviaFlags,
  log: Logger,
): Promise<Opened<OctaviaProvisioner> | undefined> {
  if (!cluster) {
    if (octaviaCertificates) throw new CommandError('--octavia-certificates needs --octavia');
    if (kuryrConf) throw new CommandError('--kuryr-conf needs --octavia');
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
  const kuryr = kuryrConf ? readKuryrConf(await textOf(kuryrConf), kuryrConf) : undefined;
  const provisioner = new OctaviaProvisioner({
    session,
    cluster,
    clock: systemClock,
    log: log.child({ component: 'octavia' }),
    ...(kuryr !== undefined && { kuryr }),
    ...(octaviaCertificates && { certificateDirectory: octaviaCertificates }),
  });
  return { provisioner, close: () => session.close() };
}

/** The flags for a manager in another process. Throws if the cloud is not configured, before that process starts. */
export async function octaviaArguments(flags: OctaviaFlags): Promise<string[]> {
  await (await octaviaProvisioner(flags, silentLogger))?.close();
  const { octavia, octaviaCertificates, kuryrConf } = flags;
  return [
    ...(octavia ? ['--octavia', octavia] : []),
    ...(octaviaCertificates ? ['--octavia-certificates', resolve(octaviaCertificates)] : []),
    ...(kuryrConf ? ['--kuryr-conf', resolve(kuryrConf)] : []),
  ];
}

const textOf = (path: string): Promise<string> =>
  readFile(path, 'utf8').catch((cause: Error) => {
    throw new CommandError(`--kuryr-conf: cannot read ${path}: ${cause.message}`, { cause });
  });
