/** `nginx` is the same image as `docker.io/library/nginx:latest`; a pattern may use either form. */
const DEFAULT_REGISTRY = /^(index\.)?docker\.io\/(library\/)?/;

/** A matcher for images. `*` matches any characters; a pattern without tag or digest matches all of them. */
export function imagePattern(pattern: string): (image: string) => boolean {
  const source = pattern.split('*').map(escapeRegExp).join('.*');
  const expression = new RegExp(`^${source}$`);
  return (image) => spellings(image).some((spelling) => expression.test(spelling));
}

const escapeRegExp = (text: string): string => text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');

/** The image with and without the parts that are usually omitted: registry, tag, digest. */
function spellings(image: string): string[] {
  const short = image.replace(DEFAULT_REGISTRY, '');
  const full = isQualified(short) ? short : `docker.io/${short.includes('/') ? '' : 'library/'}${short}`;
  const names = new Set([image, short, full]);
  return [...names].flatMap((name) => {
    const { repository, tag } = splitTag(name);
    return [name, repository, `${repository}:${tag ?? 'latest'}`];
  });
}

/** Whether the first segment is a registry, by the rule that container tools share. */
function isQualified(name: string): boolean {
  const slash = name.indexOf('/');
  const first = name.slice(0, slash);
  return slash > 0 && (first.includes('.') || first.includes(':') || first === 'localhost');
}

/** `host:5000/name` has no tag. A digest counts as a tag. */
function splitTag(name: string): { repository: string; tag: string | undefined } {
  const at = name.indexOf('@');
  const base = at < 0 ? name : name.slice(0, at);
  const colon = base.indexOf(':', base.lastIndexOf('/') + 1);
  if (colon >= 0) return { repository: base.slice(0, colon), tag: base.slice(colon + 1) };
  return { repository: base, tag: at < 0 ? undefined : name.slice(at + 1) };
}
