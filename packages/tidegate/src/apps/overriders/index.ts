/**
 * What an EdgeApplication changes for one target, a file for each kind of rule, all with the same signature: object and
 * rule in, changed object out. Rules see objects as the template names them; names and places of the edition come
 * after. A rule that can not do what it says is an error, never a silent nothing.
 */

import type { KubeObject } from '@tidegate/kube';
import type { Overriders } from '../../api/index.ts';
import type { Workload } from '../render/workloads.ts';
import { overrideAnnotations } from './annotations.ts';
import { overrideArgs } from './args.ts';
import { overrideCommand } from './command.ts';
import { overrideEnv } from './env.ts';
import { overrideImage } from './image.ts';
import { overrideLabels } from './labels.ts';
import type { OverrideError, Overrider } from './overrider.ts';
import { overrideByPatch } from './patch.ts';
import { overrideReplicas } from './replicas.ts';
import { overrideResources } from './resources.ts';
import { overrideTolerations } from './tolerations.ts';

export { OverrideError } from './overrider.ts';

export interface Rule {
  /** The field of the overriders. */
  readonly path: string;
  apply(object: KubeObject, workload: Workload): KubeObject | OverrideError | undefined;
  /** What is wrong when it concerns no object at all. */
  readonly unused: string;
}

/** In the order in which they apply. */
export function rulesOf(overriders: Overriders): Rule[] {
  const { replicas } = overriders;
  return [
    ...(replicas === undefined || replicas === null
      ? []
      : [rule('replicas', replicas, overrideReplicas, 'no workload of the template has replicas')]),
    ...rules(
      'imageOverriders',
      overriders.imageOverriders,
      overrideImage,
      'no image has what it would change',
    ),
    ...rules('commandOverriders', overriders.commandOverriders, overrideCommand, NO_CONTAINER),
    ...rules('argsOverriders', overriders.argsOverriders, overrideArgs, NO_CONTAINER),
    ...rules('envOverriders', overriders.envOverriders, overrideEnv, NO_CONTAINER),
    ...rules('resourcesOverriders', overriders.resourcesOverriders, overrideResources, NO_CONTAINER),
    ...rules('labelsOverriders', overriders.labelsOverriders, overrideLabels, NO_KEYS),
    ...rules('annotationsOverriders', overriders.annotationsOverriders, overrideAnnotations, NO_KEYS),
    ...rules(
      'tolerationsOverriders',
      overriders.tolerationsOverriders,
      overrideTolerations,
      'no workload of the template has these tolerations',
    ),
    ...rules(
      'patchOverriders',
      overriders.patchOverriders,
      overrideByPatch,
      'no workload of the template is of the kind and name of its target',
    ),
  ];
}

const NO_CONTAINER = 'no workload of the template has a container of this name with what it would change';
const NO_KEYS = 'no workload of the template has these keys';

const rules = <R>(
  field: keyof Overriders,
  list: readonly R[] | undefined,
  overrider: Overrider<R>,
  unused: string,
): Rule[] => (list ?? []).map((one, index) => rule(`${field}[${index}]`, one, overrider, unused));

const rule = <R>(path: string, value: R, overrider: Overrider<R>, unused: string): Rule => ({
  path,
  unused,
  apply: (object, workload) => overrider(object, value, workload),
});
