// Writes tar archives that depend on nothing but the entries: the order, the owners and the times are fixed.
const BLOCK = 512;

/**
 * An entry is a file with `content`, a symbolic link with `link`, or a directory with neither. Directories above an entry
 * are added.
 */
export function tarOf(entries, time) {
  const all = new Map();
  for (const { path } of entries)
    for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1))
      all.set(path.slice(0, at), { path: path.slice(0, at) });
  for (const entry of entries) all.set(entry.path, entry);
  const sorted = [...all.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  const blocks = sorted.flatMap((entry) => [headerOf(entry, time), ...padded(entry.content)]);
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function padded(content) {
  if (content === undefined) return [];
  return [content, Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)];
}

function headerOf({ path, content, link, mode }, time) {
  const isDirectory = content === undefined && link === undefined;
  const header = Buffer.alloc(BLOCK);
  const [prefix, name] = split(isDirectory ? `${path}/` : path);
  if (Buffer.byteLength(link ?? '') > 100) throw new Error(`the target of the link ${path} is too long`);
  header.write(name, 0);
  header.write(octal(mode ?? (isDirectory ? 0o755 : link === undefined ? 0o644 : 0o777), 7), 100);
  header.write(octal(0, 7), 108);
  header.write(octal(0, 7), 116);
  header.write(octal(content?.length ?? 0, 11), 124);
  header.write(octal(time, 11), 136);
  header.write(isDirectory ? '5' : link === undefined ? '0' : '2', 156);
  header.write(link ?? '', 157);
  header.write('ustar\u000000', 257);
  header.write(prefix, 345);
  header.fill(' ', 148, 156);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)}\0 `, 148);
  return header;
}

const octal = (number, digits) => number.toString(8).padStart(digits, '0');

/** A name has at most 100 bytes, and 155 more for the directories above it. */
function split(path) {
  if (Buffer.byteLength(path) <= 100) return ['', path];
  for (let at = path.indexOf('/'); at > 0; at = path.indexOf('/', at + 1)) {
    const parts = [path.slice(0, at), path.slice(at + 1)];
    if (Buffer.byteLength(parts[1]) <= 100 && Buffer.byteLength(parts[0]) <= 155) return parts;
  }
  throw new Error(`the path ${path} is too long for a tar archive`);
}

/** The files of an archive that `tarOf` wrote, by their paths. */
export function readTar(archive) {
  const text = (from, to) => archive.toString('utf8', from, to).replace(/\0.*$/s, '');
  const files = new Map();
  for (let at = 0; archive[at] !== 0; ) {
    const prefix = text(at + 345, at + 500);
    const size = Number.parseInt(text(at + 124, at + 136), 8);
    const content = archive.subarray(at + BLOCK, at + BLOCK + size);
    files.set(prefix === '' ? text(at, at + 100) : `${prefix}/${text(at, at + 100)}`, content);
    at += BLOCK + Math.ceil(size / BLOCK) * BLOCK;
  }
  return files;
}
