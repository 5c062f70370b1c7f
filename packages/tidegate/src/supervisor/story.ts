/** The example objects of a new cluster with the example layout: pools, an application, front doors, Ingresses. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlreadyExists, type KubeClient, type KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import type { YurtIngress } from '../api/index.ts';

/**
 * Creates the objects of all manifests in the directory, in the order of the file names. Objects that exist are left
 * unchanged: they come from an interrupted start, and the user may have changed them since. Resolves to the pools
 * that have a front door.
 */
export async function createStory(
  client: KubeClient,
  directory: string,
  signal: AbortSignal,
): Promise<string[]> {
  const story = await readStory(directory);
  for (const object of story) {
    const resource = await client.discovery.forObject(object);
    const metadata = { ...(resource.namespaced && { namespace: 'default' }), ...object.metadata };
    try {
      await client.create(resource, { ...object, metadata }, { signal });
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
    }
  }
  return story.flatMap((object) => (isYurtIngress(object) ? poolsOf(object) : []));
}

type FrontDoors = Pick<YurtIngress, 'spec'>;
const isYurtIngress = (object: KubeObject & Partial<FrontDoors>): object is KubeObject & FrontDoors =>
  object.kind === 'YurtIngress';

const poolsOf = ({ spec }: FrontDoors): string[] => spec?.pools?.map(({ name }) => name) ?? [];

async function readStory(directory: string): Promise<KubeObject[]> {
  const files = (await readdir(directory)).filter((name) => name.endsWith('.yaml')).sort();
  const texts = await Promise.all(files.map((name) => readFile(join(directory, name), 'utf8')));
  return texts.flatMap((text) => parseAllDocuments(text).map((document) => document.toJS() as KubeObject));
}
