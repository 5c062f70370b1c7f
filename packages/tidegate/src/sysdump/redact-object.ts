import { isJsonMap, type Resource } from '@tidegate/kube';
import { isOurs, redactArguments } from './arguments.ts';
import { REDACTED } from './redact-text.ts';
import { applyShape } from './shape.ts';
import { customResource, shapesOf } from './shapes.ts';

const OURS = shapesOf(redactArguments);
const FOREIGN = shapesOf(() => REDACTED);

/** The object without credentials. Of a resource without a shape, only the names of its fields are kept. */
export function redactObject({ resource }: Pick<Resource, 'resource'>, object: unknown): unknown {
  const shapes = isOurs(podLabels(object)) ? OURS : FOREIGN;
  const shape = Object.hasOwn(shapes, resource) ? shapes[resource] : undefined;
  return applyShape(shape ?? {}, object);
}

/** An object of one of Tidegate's own kinds. */
export const redactCustomResource = (object: unknown): unknown => customResource(object);

/** The labels of the pods: those of the object itself, or of its template. */
function podLabels(object: unknown): unknown {
  const [spec, own] = [at(object, 'spec'), at(object, 'metadata')];
  const template = at(at(spec, 'template'), 'metadata');
  return at(template ?? own, 'labels');
}

const at = (value: unknown, key: string): unknown =>
  isJsonMap(value) && Object.hasOwn(value, key) ? value[key] : undefined;
