/**
 * The overriders of an EdgeApplication: the changes to workloads for one target. Each kind of rule has a file, and all
 * have the same signature (`Overrider`). Overriders run before the edition gets its name, labels and node selector, so
 * rules use the names of the template. A rule that cannot be applied is an error and is never skipped silently.
 */

import type { KubeObject } from '@tidegate/kube';
import { EDITIONS_ANNOTATION, type Overriders, type PatchOverrider } from '../../api/index.ts';
import type { Workload } from '../workloads.ts';
import { overrideAnnotations } from './annotations.ts';
import { overrideArgs } from './args.ts';
import { overrideCommand } from './command.ts';
import { overrideEnv } from './env.ts';
import { overrideImage } from './image.ts';
import { overrideLabels } from './labels.ts';
import type { Charge, OverrideError, Overrider } from './overrider.ts';
import { overrideByPatch } from './patch.ts';
import { overrideReplicas } from './replicas.ts';
import { overrideResources } from './resources.ts';
import { overrideTolerations } from './tolerations.ts';

export { CONTAINER_LISTS, OverrideError } from './overrider.ts';

/** One rule of a target's overriders. */
export interface Rule {
  /** The field below `overriders`, for example `imageOverriders[0]`. */
  readonly path: string;
  /** Returns the changed object, an error, or undefined if the rule does not match the object. */
  apply(
    object: KubeObject,
    workload: Workload | undefined,
    charge: Charge,
  ): KubeObject | OverrideError | undefined;
  /** The error message if the rule matches no workload of the template. */
  readonly unused: string;
}

/** Returns the rules in the order in which they are applied. The order of fields in the manifest does not matter. */
export function rulesOf(overriders: Overriders): Rule[] {
  const { replicas } = overriders;
  return [
    ...(replicas === undefined || replicas === null
      ? []
      : [
          rule(
            'replicas',
            replicas,
            overrideReplicas,
            'the template has no Deployment, ReplicaSet or StatefulSet',
          ),
        ]),
    ...rules(
      'imageOverriders',
      overriders.imageOverriders,
      overrideImage,
      'no container image in the template matches this rule',
    ),
    ...rules('commandOverriders', overriders.commandOverriders, overrideCommand, NO_CONTAINER_WITH_VALUES),
    ...rules('argsOverriders', overriders.argsOverriders, overrideArgs, NO_CONTAINER_WITH_VALUES),
    ...rules('envOverriders', overriders.envOverriders, overrideEnv, NO_CONTAINER_WITH_VALUES),
    ...rules('resourcesOverriders', overriders.resourcesOverriders, overrideResources, NO_SUCH_CONTAINER),
    ...rules('labelsOverriders', overriders.labelsOverriders, overrideLabels, NO_KEYS),
    ...rules('annotationsOverriders', overriders.annotationsOverriders, overrideAnnotations, NO_KEYS),
    ...rules(
      'tolerationsOverriders',
      overriders.tolerationsOverriders,
      overrideTolerations,
      'no workload in the template has these tolerations',
    ),
    ...(overriders.patchOverriders ?? []).map((patch, index) => patchRule(patch, index)),
  ];
}

const NO_CONTAINER_WITH_VALUES =
  'no container in the template matches this rule: check containerName and, for operator remove, value';
const NO_SUCH_CONTAINER = 'no container in the template has this name';
const NO_KEYS = 'no workload in the template has these keys';

const rules = <R>(
  field: keyof Overriders,
  list: readonly R[] | undefined,
  overrider: Overrider<R>,
  unused: string,
): Rule[] => (list ?? []).map((one, index) => rule(`${field}[${index}]`, one, overrider, unused));

const rule = <R>(path: string, value: R, overrider: Overrider<R>, unused: string): Rule => ({
  path,
  unused,
  apply: (object, workload, charge) =>
    workload === undefined ? undefined : overrider(object, value, workload, charge),
});

/** Patches also change objects that run no pods, if they name the kind: a patch for all objects is meant for workloads. */
const patchRule = (patch: PatchOverrider, index: number): Rule => ({
  path: `patchOverriders[${index}]`,
  unused: `no object with editions in the template has the kind and name of the target; objects that run no pods have editions with the annotation ${EDITIONS_ANNOTATION}: each`,
  apply: (object, workload, charge) =>
    workload === undefined && patch.target?.kind === undefined
      ? undefined
      : overrideByPatch(object, patch, charge),
});
