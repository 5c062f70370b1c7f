/** The example that a new cluster with the example's layout begins with: pools, an application, front doors, Ingresses. */
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isAlreadyExists, type KubeClient, type KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import type { YurtIngress } from '../api/index.ts';

/**
 * Creates what the manifests of the directory say, file by file in the order of their names. What is there already
 * stays as it is: it is from a start that was interrupted, and somebody may have changed it since. Resolves to the pools
 * that have a front door.
 */
export async function tellStory(
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
