/** The parts of an image name, `[registry/]repository[:tag][@digest]`. A part that is absent is empty. */
export interface ImageName {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
}

// The grammar of image references, https://github.com/distribution/reference/blob/main/reference.go
const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const REGISTRY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?$`);
const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[\w][\w.-]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}$/;

/** An image name, or a part of one, is not valid. The message names the part and the expected form. */
export class ImageNameError extends Error {
  override readonly name = 'ImageNameError';
}

/** Longer than any image name that a container runtime accepts. */
const MAX_LENGTH = 512;

/** Splits an image name. Throws ImageNameError. */
export function parseImageName(text: string): ImageName {
  checkLength(text.length);
  const [named = '', digest = '', ...more] = text.split('@');
  if (more.length > 0) throw new ImageNameError(`${JSON.stringify(text)} has more than one digest`);
  // A colon before the last slash belongs to the port of the registry.
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const path = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? '' : named.slice(colon + 1);
  if (colon >= 0 && tag === '') throw new ImageNameError(`${JSON.stringify(text)} has a colon but no tag`);
  if (text.includes('@') && digest === '')
    throw new ImageNameError(`${JSON.stringify(text)} has an @ but no digest`);
  const slash = path.indexOf('/');
  const first = path.slice(0, Math.max(slash, 0));
  // The first segment is a registry only if it has a dot or a port, or is localhost. Docker uses the same rule.
  const hasRegistry = /[.:]/.test(first) || first === 'localhost';
  return checked({
    registry: hasRegistry ? first : '',
    repository: hasRegistry ? path.slice(slash + 1) : path,
    tag,
    digest,
  });
}

/** Joins the parts to an image name. Throws ImageNameError if a part is not valid. */
export function formatImageName(name: ImageName): string {
  const { registry, repository, tag, digest } = checked(name);
  return `${registry && `${registry}/`}${repository}${tag && `:${tag}`}${digest && `@${digest}`}`;
}

function checked(name: ImageName): ImageName {
  const { registry, repository, tag, digest } = name;
  checkLength(registry.length + repository.length + tag.length + digest.length);
  if (registry !== '' && !isRegistry(registry))
    throw new ImageNameError(
      `${JSON.stringify(registry)} is not a valid registry: use a host name with a dot or a port, or localhost`,
    );
  if (!repository.split('/').every((segment) => SEGMENT.test(segment)))
    throw new ImageNameError(
      `${JSON.stringify(repository)} is not a valid repository: use lowercase letters and digits, with "/", ".", "_" or "-" between them`,
    );
  if (tag !== '' && !TAG.test(tag))
    throw new ImageNameError(
      `${JSON.stringify(tag)} is not a valid tag: use at most 128 letters, digits, "_", "." and "-"; the first cannot be "." or "-"`,
    );
  if (digest !== '' && !DIGEST.test(digest))
    throw new ImageNameError(
      `${JSON.stringify(digest)} is not a valid digest: use an algorithm and a hash, for example sha256:0123...`,
    );
  return name;
}

function checkLength(length: number): void {
  if (length > MAX_LENGTH)
    throw new ImageNameError(`an image name can have at most ${MAX_LENGTH} characters, this has ${length}`);
}

const isRegistry = (text: string): boolean =>
  REGISTRY.test(text) && (/[.:]/.test(text) || text === 'localhost');

/** Parses the value of a tag rule: `v2`, `:v2`, `sha256:...`, `@sha256:...`, or a tag and a digest. */
export function parseTag(text: string): Pick<ImageName, 'tag' | 'digest'> {
  const at = text.indexOf('@');
  if (at < 0 && DIGEST.test(text)) return { tag: '', digest: text };
  const tag = at < 0 ? text : text.slice(0, at);
  return { tag: tag.replace(/^:/, ''), digest: at < 0 ? '' : text.slice(at + 1) };
}
