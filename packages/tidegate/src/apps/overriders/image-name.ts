/** `[registry/]repository[:tag][@digest]`, taken apart. */
export interface ImageName {
  readonly registry: string;
  readonly repository: string;
  readonly tag: string;
  readonly digest: string;
}

const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?';
const REGISTRY = new RegExp(`^(?:${LABEL}(?:\\.${LABEL})*|\\[[0-9a-fA-F:]+\\])(?::[0-9]+)?$`);
const SEGMENT = /^[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*$/;
const TAG = /^[\w][\w.-]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-fA-F]{32,}$/;

export class ImageNameError extends Error {
  override readonly name = 'ImageNameError';
}

/** Throws ImageNameError. */
export function parseImageName(text: string): ImageName {
  const [named = '', digest = '', ...more] = text.split('@');
  if (more.length > 0) throw new ImageNameError(`${JSON.stringify(text)} has more than one digest`);
  // A colon before the last slash belongs to the port of the registry.
  const colon = named.indexOf(':', named.lastIndexOf('/') + 1);
  const path = colon < 0 ? named : named.slice(0, colon);
  const tag = colon < 0 ? '' : named.slice(colon + 1);
  if (colon >= 0 && tag === '') throw new ImageNameError(`${JSON.stringify(text)} has a colon and no tag`);
  if (text.includes('@') && digest === '')
    throw new ImageNameError(`${JSON.stringify(text)} has an @ and no digest`);
  const slash = path.indexOf('/');
  const first = path.slice(0, Math.max(slash, 0));
  const hasRegistry = /[.:]/.test(first) || first === 'localhost';
  return checked({
    registry: hasRegistry ? first : '',
    repository: hasRegistry ? path.slice(slash + 1) : path,
    tag,
    digest,
  });
}

/** The name back in one piece. Throws ImageNameError when the parts make none. */
export function formatImageName(name: ImageName): string {
  const { registry, repository, tag, digest } = checked(name);
  return `${registry && `${registry}/`}${repository}${tag && `:${tag}`}${digest && `@${digest}`}`;
}

function checked(name: ImageName): ImageName {
  const { registry, repository, tag, digest } = name;
  if (registry !== '' && !isRegistry(registry))
    throw new ImageNameError(
      `${JSON.stringify(registry)} is no registry: it is a host name with a dot or a port, or localhost`,
    );
  if (!repository.split('/').every((segment) => SEGMENT.test(segment)))
    throw new ImageNameError(
      `${JSON.stringify(repository)} is no repository: its parts are of lower case letters, digits, and . _ - between them`,
    );
  if (tag !== '' && !TAG.test(tag))
    throw new ImageNameError(
      `${JSON.stringify(tag)} is no tag: it is of letters, digits and . _ -, begins with none of . and -, and has at most 128 characters`,
    );
  if (digest !== '' && !DIGEST.test(digest))
    throw new ImageNameError(`${JSON.stringify(digest)} is no digest such as sha256:0123...`);
  return name;
}

const isRegistry = (text: string): boolean =>
  REGISTRY.test(text) && (/[.:]/.test(text) || text === 'localhost');

/** What a rule may write for a tag: `v2`, `:v2`, `sha256:...`, `@sha256:...`, or a tag and a digest. */
export function parseTag(text: string): Pick<ImageName, 'tag' | 'digest'> {
  const at = text.indexOf('@');
  if (at < 0 && DIGEST.test(text)) return { tag: '', digest: text };
  const tag = at < 0 ? text : text.slice(0, at);
  return { tag: tag.replace(/^:/, ''), digest: at < 0 ? '' : text.slice(at + 1) };
}
