import type { KubeObject } from '@tidegate/kube';
import { parsePointer } from '@tidegate/kube/patch';
import type { ImageOverrider } from '../../api/index.ts';
import { type Path, read, write } from '../json.ts';
import { formatImageName, type ImageName, ImageNameError, parseImageName, parseTag } from './image-name.ts';
import { changeContainers, type OverrideError, type Overrider, overrideError } from './overrider.ts';

/** Images of all containers, or the one at `predicate.path`: another registry, repository or tag. */
export const overrideImage: Overrider<ImageOverrider> = (object, rule, workload) => {
  if (rule.operator !== 'remove' && (rule.value ?? '') === '')
    return overrideError([], `to ${rule.operator}, say in value what comes there`);
  if (rule.predicate !== undefined) return overrideAt(object, rule.predicate.path, rule);
  return changeContainers(object, workload, (container, path) => {
    const image = overridden(container.image, rule, [...path, 'image']);
    return typeof image === 'string' ? { ...container, image } : image;
  });
};

function overrideAt(
  object: KubeObject,
  pointer: string,
  rule: ImageOverrider,
): KubeObject | OverrideError | undefined {
  const path = parsePointer(pointer);
  if (path === undefined || path.length === 0)
    return overrideError(
      [],
      `${JSON.stringify(pointer)} is no path such as /spec/template/spec/containers/0/image`,
    );
  const image = overridden(read(object, path), rule, path);
  return typeof image === 'string' ? write(object, path, image) : image;
}

/** Undefined when there is no image, or not the part of its name that the rule would remove. */
function overridden(image: unknown, rule: ImageOverrider, path: Path): string | OverrideError | undefined {
  if (typeof image !== 'string') return undefined;
  try {
    const name = change(parseImageName(image), rule);
    return name && formatImageName(name);
  } catch (error) {
    if (!(error instanceof ImageNameError)) throw error;
    return overrideError(path, error.message);
  }
}

function change(name: ImageName, { component, operator, value = '' }: ImageOverrider): ImageName | undefined {
  switch (component.toLowerCase()) {
    case 'registry':
      if (operator === 'remove') return name.registry === '' ? undefined : { ...name, registry: '' };
      return { ...name, registry: operator === 'add' ? name.registry + value : value };
    case 'repository':
      if (operator === 'remove')
        throw new ImageNameError('without its repository an image has no name: replace it');
      return { ...name, repository: operator === 'add' ? name.repository + value : value };
    case 'tag':
      return changeTag(name, operator, value);
    default:
      throw new ImageNameError(`${JSON.stringify(component)} is none of Registry, Repository and Tag`);
  }
}

/** The digest pins what the tag stood for, so it goes with it. */
function changeTag(
  name: ImageName,
  operator: ImageOverrider['operator'],
  value: string,
): ImageName | undefined {
  const { tag, digest } = name;
  switch (operator) {
    case 'remove':
      return tag === '' && digest === '' ? undefined : { ...name, tag: '', digest: '' };
    case 'replace':
      return { ...name, ...parseTag(value) };
    case 'add':
      if (digest !== '')
        throw new ImageNameError(
          `the image is pinned to ${digest}, which no tag can be added to: replace it`,
        );
      return { ...name, ...parseTag(tag + value) };
  }
}
