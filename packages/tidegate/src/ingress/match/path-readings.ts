import { DOT_SEGMENT } from './path.ts';

/** The ways in which servers change a path. They do so in different orders, and some do it twice. */
const CHANGES: readonly ((path: string) => string)[] = [
  (path) =>
    path.replace(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
  // Path parameters. For some servers, a backslash ends them.
  (path) => path.replace(/;[^/]*/g, ''),
  (path) => path.replace(/;[^/\\]*/g, ''),
  (path) => path.replace(/\\/g, '/'),
  // A program that parses the target as a URL takes what follows two slashes for the name of a host.
  (path) => path.replace(/^[/\\]{2,}[^/\\]*/, '') || '/',
];
/** Paths of real clients have up to five. */
const MOST_READINGS = 24;
/** The characters of all readings. Each takes time, and clients choose how long a path is. */
const MOST_CHARACTERS = 65_536;

/**
 * All paths that servers may read this one as, without empty segments. Undefined if there are too many, or if one of them has dot
 * segments: then it is unknown which path a backend reads.
 */
export function readingsOfPath(path: string): readonly string[] | undefined {
  if (!/[%;\\]|^\/\//.test(path)) return [withoutEmpty(path)];
  const found = new Set([path]);
  let characters = path.length;
  // The loop also visits what it adds. Every change makes the path shorter or removes backslashes, so it ends.
  for (const each of found) {
    for (const change of CHANGES) {
      const changed = change(each);
      if (!found.has(changed)) characters += changed.length;
      found.add(changed);
    }
    if (found.size > MOST_READINGS || characters > MOST_CHARACTERS) return undefined;
  }
  const readings = [...new Set([...found].map(withoutEmpty))];
  return readings.some((each) => DOT_SEGMENT.test(each)) ? undefined : readings;
}

const withoutEmpty = (path: string): string => path.replace(/\/\/+/g, '/');

/**
 * The path as file systems and frameworks compare it that ignore case, or the end of a name: dots, spaces and control
 * characters, or the name of a stream (`::$DATA`). Undefined if nothing is left of a segment but dots: it may mean the directory
 * above. `path` is a reading, so characters are bytes.
 */
export function foldedPath(path: string): string | undefined {
  const lower = path.replace(/[A-Z]+/g, (text) => text.toLowerCase());
  const segments = lower.replace(/:+\$[^/]*/g, '').split('/');
  for (const [at, segment] of segments.entries()) {
    const end = endOfName(segment);
    if (end === 0 && segment.startsWith('.')) return undefined;
    if (end < segment.length) segments[at] = segment.slice(0, end);
  }
  return withoutEmpty(segments.join('/'));
}

/** Where the part of a segment ends that all servers compare. */
function endOfName(segment: string): number {
  let end = segment.length;
  for (; end > 0; end--) {
    const code = segment.charCodeAt(end - 1);
    // In UTF-8, the two spaces beyond ASCII begin with 0xc2.
    if (isSpace(code)) {
      if (segment.charCodeAt(end - 2) === 0xc2) end--;
    } else if (code > 0x20 && code !== DOT && code !== DELETE) break;
  }
  return end;
}

const DOT = 0x2e;
const DELETE = 0x7f;

/** A line separator or a space that must not be broken, in Latin-1. */
const isSpace = (code: number): boolean => code === 0x85 || code === 0xa0;
