/** Checks the values of a custom resource that its `scale` subresource exposes: 32-bit integers and a string. */
import type { KubeObject } from '@tidegate/kube';
import { type FieldError, fieldError } from '@tidegate/serving';
import { formatGoValue, goTypeName } from '../patch/go-format.ts';
import type { ScaleSubresource } from './types.ts';

export function checkScaleSpec(object: KubeObject, scale: ScaleSubresource | undefined): FieldError[] {
  return checkReplicas(object, scale?.specReplicasPath);
}

export function checkScaleStatus(object: KubeObject, scale: ScaleSubresource | undefined): FieldError[] {
  const selector = scale?.labelSelectorPath;
  return [
    ...checkReplicas(object, scale?.statusReplicasPath),
    ...(selector === undefined ? [] : checkSelector(object, selector)),
  ];
}

const MAX_INT32 = 2 ** 31 - 1;

function checkReplicas(object: KubeObject, path: string | undefined): FieldError[] {
  if (path === undefined) return [];
  const { value, problem } = read(object, path, 'int64');
  if (problem !== undefined) return [fieldError.invalid(path, 0, problem)];
  const replicas = typeof value === 'number' ? value : 0;
  if (replicas < 0) return [fieldError.invalid(path, replicas, 'should be a non-negative integer')];
  if (replicas <= MAX_INT32) return [];
  return [fieldError.invalid(path, replicas, `should be less than or equal to ${MAX_INT32}`)];
}

function checkSelector(object: KubeObject, path: string): FieldError[] {
  const { problem } = read(object, path, 'string');
  return problem === undefined ? [] : [fieldError.invalid(path, '', problem)];
}

function read(object: KubeObject, path: string, type: string): { value?: unknown; problem?: string } {
  const steps = path.replace(/^\./, '').split('.');
  const wrong = (at: number, value: unknown, wanted: string) => ({
    problem: `.${steps.slice(0, at).join('.')} accessor error: ${formatGoValue(value)} is of the type ${goTypeName(value)}, expected ${wanted}`,
  });
  let value: unknown = object;
  for (const [index, step] of steps.entries()) {
    if (value === null) return {};
    if (goTypeName(value) !== MAP) return wrong(index + 1, value, 'map[string]interface{}');
    const map = value as Record<string, unknown>;
    if (!Object.hasOwn(map, step)) return {};
    value = map[step];
  }
  return goTypeName(value) === type ? { value } : wrong(steps.length, value, type);
}

const MAP = goTypeName({});
