import type { KubeObject } from '@tidegate/kube';
import type { PodTemplateSpec } from '../pod/types.ts';
import { podTemplateWarnings } from '../pod/warnings.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { isDNS1123Label } from '../validation/names.ts';

/** Warnings for a template, if it is new or the spec of its owner changed. */
export function templateWarnings<T extends KubeObject>(
  object: T,
  old: T | undefined,
  template: (object: T) => PodTemplateSpec | undefined,
  path = 'spec.template',
): string[] {
  if (old !== undefined && semanticallyEqual(object.spec, old.spec)) return [];
  return podTemplateWarnings(template(object) ?? {}, path);
}

/** Pods are named after their owner and host names after pods, so the name must be a valid host name. */
export function nameWarnings({ metadata }: KubeObject, old: KubeObject | undefined): string[] {
  const messages = isDNS1123Label(metadata.name ?? '');
  if (old !== undefined || messages.length === 0) return [];
  const advice = 'which can result in surprising behavior; a DNS label is recommended';
  return [`metadata.name: this is used in Pod names and hostnames, ${advice}: [${messages.join(' ')}]`];
}
