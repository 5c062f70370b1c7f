// The licences of the npm packages that are part of a bundle. Their authors ask that copies contain them.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The text of all licences, from the inputs of a bundle as paths below `root`. */
export function licensesOf(inputs, root) {
  const folders = new Set(
    inputs.flatMap((path) => /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  return [...folders]
    .sort()
    .map((folder) => licenseIn(join(root, folder)))
    .join(`\n${'-'.repeat(80)}\n\n`);
}

function licenseIn(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  const path = file === undefined ? undefined : join(folder, file);
  const text =
    path !== undefined && existsSync(path) ? readFileSync(path, 'utf8').trim() : 'No licence file.';
  return `${name} ${version} (${license})\n\n${text}\n`;
}
