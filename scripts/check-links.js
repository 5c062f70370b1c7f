// Fails when a link in a tracked Markdown file leads nowhere: a file that is missing, a heading that does not exist, or a
// path of this repository in `code` that is gone. Addresses of other sites are not requested.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative } from 'node:path';

const ROOT = join(import.meta.dirname, '..');

/** The changelog names files of older versions. */
const PATHS_NOT_CHECKED = new Set(['CHANGELOG.md']);
const PATH = /^(?:packages|docs|scripts|test|deploy|examples|bench|bin|\.ci)\/[\w./-]*$/;
const MADE_BY_BUILD = /(?:^|\/)dist(?:\/|$)/;

const tracked = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
});
const pages = new Map();
for (const path of tracked.split('\n').filter((each) => each !== '' && existsSync(join(ROOT, each))))
  pages.set(path, readPage(readFileSync(join(ROOT, path), 'utf8')));

const problems = [];
for (const [path, { links, codes }] of pages) {
  for (const { line, target } of links) {
    const problem = problemOf(path, target);
    if (problem !== undefined) problems.push(`${path}:${line}: ${target}: ${problem}`);
  }
  if (PATHS_NOT_CHECKED.has(path)) continue;
  // A README of a package may name paths of that package.
  for (const { line, text } of codes)
    if (
      ![ROOT, join(ROOT, dirname(path))].some((base) => existsSync(join(base, text))) &&
      !MADE_BY_BUILD.test(text)
    )
      problems.push(`${path}:${line}: ${text}: no such file in the repository`);
}
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;

/** Links, paths in code, and the anchors of headings. Blocks of code have neither links nor headings. */
function readPage(markdown) {
  const links = [];
  const codes = [];
  const anchors = new Set();
  let fence;
  for (const [index, line] of markdown.split('\n').entries()) {
    const opened = /^ *(`{3,})/.exec(line)?.[1];
    if (opened !== undefined && (fence === undefined || opened === fence)) {
      fence = fence === undefined ? opened : undefined;
      continue;
    }
    if (fence !== undefined) continue;
    const heading = /^#{1,6} +(.*?) *#*$/.exec(line)?.[1];
    if (heading !== undefined) anchors.add(uniqueAnchor(heading, anchors));
    for (const [, text] of line.matchAll(/`([^`]+)`/g))
      if (PATH.test(text)) codes.push({ line: index + 1, text: text.replace(/\/$/, '') });
    const prose = line.replace(/`[^`]*`/g, '``');
    for (const [, target] of prose.matchAll(/\]\(([^()\s]+)(?:\s+"[^"]*")?\)/g))
      links.push({ line: index + 1, target });
    for (const [, target] of prose.matchAll(/^\[[^\]]+\]: +(\S+)/g)) links.push({ line: index + 1, target });
    for (const [, target] of prose.matchAll(/<(?:img|a|source)\b[^>]*?(?:src|href|srcset)="([^"]+)"/g))
      links.push({ line: index + 1, target });
  }
  return { links, codes, anchors };
}

/** As GitHub makes them: lower case, spaces become dashes, other punctuation goes, and a second one gets a number. */
function uniqueAnchor(heading, taken) {
  const words = heading.replace(/\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/[`*]/g, '');
  const anchor = words
    .toLowerCase()
    .replace(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
  for (let count = 0; ; count++) {
    const candidate = count === 0 ? anchor : `${anchor}-${count}`;
    if (!taken.has(candidate)) return candidate;
  }
}

function problemOf(from, target) {
  if (/^[a-z][a-z+.-]*:/i.test(target)) {
    return URL.canParse(target) ? undefined : 'not a valid URL';
  }
  const [file, anchor] = target.split('#');
  const path =
    file === '' ? from : normalize(join(dirname(from), decodeURIComponent(file))).replace(/\/$/, '');
  if (relative('.', path).startsWith('..')) return 'outside of the repository';
  if (!existsSync(join(ROOT, path))) return 'no such file';
  if (anchor === undefined || anchor === '') return undefined;
  const page = pages.get(path);
  if (page === undefined) return `${path} is not a Markdown file of this repository`;
  return page.anchors.has(anchor) ? undefined : `${path} has no heading with this anchor`;
}
