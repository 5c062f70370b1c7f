/** The example objects of a new cluster with the example layout: pools, an application, front doors, Ingresses. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlreadyExists, type KubeClient, type KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import type { YurtIngress } from '../api/index.ts';
import { choosePort, OFFSET } from './free-port.ts';
import { untilAccepted } from './retry.ts';
import { portsOf, withPorts } from './story-ports.ts';

export interface StoryOptions {
  /** The manifests. */
  directory: string;
  /** Whether pods can listen on a port. */
  isFree(port: number): Promise<boolean>;
  report(line: string): void;
  signal: AbortSignal;
}

/**
 * Creates the objects of all manifests in the directory, in the order of the file names. Objects that exist are left
 * unchanged: they come from an interrupted start, and the user may have changed them since. Resolves to the pools
 * that have a front door.
 */
export async function createStory(client: KubeClient, options: StoryOptions): Promise<string[]> {
  const { directory, report, signal } = options;
  const story = await withFreePorts(await readStory(directory), options);
  for (const object of story)
    await untilAccepted(() => create(client, object, signal), {
      what: `create ${object.kind} ${object.metadata.name}`,
      report,
      signal,
    });
  return story.flatMap((object) => (isYurtIngress(object) ? poolsOf(object) : []));
}

async function create(client: KubeClient, object: KubeObject, signal: AbortSignal): Promise<void> {
  const resource = await client.discovery.forObject(object);
  const metadata = { ...(resource.namespaced && { namespace: 'default' }), ...object.metadata };
  try {
    await client.create(resource, { ...object, metadata }, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
}

/** The objects with other ports for their pods, wherever another program has one of theirs. */
export async function withFreePorts(
  story: readonly KubeObject[],
  { isFree, report }: StoryOptions,
): Promise<KubeObject[]> {
  const replacements = new Map<number, number>();
  for (const port of portsOf(story)) {
    if (await isFree(port)) continue;
    const other = await choosePort(port + OFFSET, isFree);
    replacements.set(port, other);
    report(
      `port ${port} is in use by another program on this machine; the pods of the example use ${other} instead`,
    );
  }
  return withPorts(story, replacements);
}

type FrontDoors = Pick<YurtIngress, 'spec'>;
const isYurtIngress = (object: KubeObject & Partial<FrontDoors>): object is KubeObject & FrontDoors =>
  object.kind === 'YurtIngress';

const poolsOf = ({ spec }: FrontDoors): string[] => spec?.pools?.map(({ name }) => name) ?? [];

/** The objects of all manifests in the directory. */
export async function readStory(directory: string): Promise<KubeObject[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as KubeObject));
}
