import { quotePath } from '@tidegate/disk';
import type { KubeObject } from '@tidegate/kube';
import { type EdgeApplication, edgeApplicationSchema } from '../api/index.ts';
import { everyPoolIsNodeGroup, type KindOfPool } from '../apps/index.ts';
import { readManifests } from './manifest-file.ts';
import { CommandError } from './process.ts';
import { shapeProblems } from './shape.ts';

export interface ApplicationFile {
  readonly applications: readonly EdgeApplication[];
  /** Determined by the pools in the same file. */
  readonly kindOfPool: KindOfPool;
}

/** Reads EdgeApplications from a file, or from standard input for `-`. */
export async function readApplicationFile(path: string): Promise<ApplicationFile> {
  const objects = (await readManifests(path)).map(({ object }) => object);
  const applications = objects.filter(({ kind }) => kind === 'EdgeApplication');
  if (applications.length === 0) throw new CommandError(`${quotePath(path)} contains no EdgeApplication`);
  const nodePools = new Set(
    objects.filter(({ kind }) => kind === 'NodePool').map(({ metadata }) => metadata?.name),
  );
  return {
    applications: applications.map((object) => asApplication(object, path)),
    kindOfPool: (name, wanted) => wanted ?? (nodePools.has(name) ? 'NodePool' : everyPoolIsNodeGroup(name)),
  };
}

function asApplication(object: KubeObject, path: string): EdgeApplication {
  const application = { ...object, metadata: object.metadata ?? {} };
  const problems = shapeProblems(edgeApplicationSchema, application);
  if (problems.length > 0)
    throw new CommandError(
      problems.map(({ path: field, message }) => `${path}: ${field}: ${message}`).join('\n'),
    );
  return application as unknown as EdgeApplication;
}
