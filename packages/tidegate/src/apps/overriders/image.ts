import type { KubeObject } from '@tidegate/kube';
import { parsePointer } from '@tidegate/kube/patch';
import type { ImageOverrider } from '../../api/index.ts';
import { type Path, read, write } from '../json.ts';
import { formatImageName, type ImageName, ImageNameError, parseImageName, parseTag } from './image-name.ts';
import { changeContainers, listed, type OverrideError, type Overrider, overrideError } from './overrider.ts';

/** An image name is parsed, changed and checked. */
const CHARACTERS_PER_STEP = 32;

/** Changes the registry, repository or tag of all container images, or of the image at `predicate.path`. */
export const overrideImage: Overrider<ImageOverrider> = (object, rule, workload, charge) => {
  if (rule.operator !== 'remove' && (rule.value ?? '') === '')
    return overrideError([], 'value is required for the operators add and replace');
  if (rule.predicate !== undefined) return overrideAt(object, rule.predicate.path, rule);
  return changeContainers(object, workload, (container, path) => {
    charge(lengthOf(container.image) / CHARACTERS_PER_STEP);
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
      `predicate.path ${listed([JSON.stringify(pointer)])} is not a JSON Pointer, for example /spec/template/spec/containers/0/image`,
    );
  const image = overridden(read(object, path), rule, path);
  return typeof image === 'string' ? write(object, path, image) : image;
}

const lengthOf = (image: unknown): number => (typeof image === 'string' ? image.length : 0);

/** Returns undefined if there is no image, or if its name does not have the part that the rule removes. */
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
        throw new ImageNameError('the repository of an image cannot be removed: use operator replace');
      return { ...name, repository: operator === 'add' ? name.repository + value : value };
    case 'tag':
      return changeTag(name, operator, value);
    default:
      throw new ImageNameError(
        `unsupported component ${listed([JSON.stringify(component)])}; supported components: Registry, Repository, Tag`,
      );
  }
}

/** Changes the tag. A digest pins the image of the old tag, so a new tag, or no tag, also removes the digest. */
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
          `the image is pinned to ${digest}, so its tag cannot be extended: use operator replace`,
        );
      return { ...name, ...parseTag(tag + value) };
  }
}
