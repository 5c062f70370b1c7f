/** Writes of the server's own controllers. If the object no longer exists, they do nothing. */
import type { KubeObject } from '@tidegate/kube';
import type { Served } from '../served/registry.ts';
import type { Core, WriteOptions } from './core.ts';
import { type DeleteOptions, deleteObject, isNotFound } from './delete.ts';
import { updateObject } from './update.ts';

export interface Target {
  served: Served;
  namespace: string;
  name: string;
  /** Default: ''. */
  subresource?: string;
}

/** Changes the current object in place. `edit` may be called several times if other writes come first. */
export async function editIfPresent(
  core: Core,
  target: Target,
  options: WriteOptions,
  edit: (current: KubeObject) => void,
): Promise<void> {
  const change = (current: KubeObject): KubeObject => {
    edit(current);
    return current;
  };
  const { subresource = '' } = target;
  await unlessGone(updateObject(core, { ...target, subresource, options, retries: true, change }));
}

/** Deletes the object with all checks of a client request. */
export async function deleteIfPresent(
  core: Core,
  target: Target,
  options: WriteOptions,
  how: DeleteOptions,
): Promise<void> {
  await unlessGone(deleteObject(core, { ...target, options, delete: how }));
}

async function unlessGone(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}
