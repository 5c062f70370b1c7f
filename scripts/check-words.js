// Fails when a tracked text uses a word that the style guide in CONTRIBUTING.md replaces. A word list is all this is:
// it keeps phrases that readers stumbled over from coming back, it does not judge style.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');

/** A phrase that is not used, and what to write instead. */
const PHRASES = [
  [/\bcan not\b/i, 'cannot'],
  [/\b(?:whoever|whomever|who|whom)\b/i, 'a client, pod, user or controller "that ..."'],
  [/\b(?:nobody|somebody|everybody)\b/i, 'no client, a user, every pod: name what is meant'],
  [/\b(?:is|are|was|were|be|been|being|gets?|got) told\b/i, 'is notified, is reported, receives'],
  [/\bout of reach\b/i, 'unreachable'],
  [/\bby chance\b/i, 'randomly'],
  [/\b(?:brings?|brought) about\b/i, 'provisions, creates, causes'],
  [/\b(?:goes|go|went) by\b/i, 'applies, uses, follows'],
  [/\b(?:stands?|stood) (?:in|on|at|there|twice|beside|behind)\b/i, 'runs in, is in, appears'],
  // "There is no Service" is plain English; "it is no Service" is not.
  [/(?<!\bthere )\b(?:is|are|was|were) no (?!longer|more|such|less|matter)/i, 'is not a ...'],
  [/\bcarr(?:y|ies|ied) the (?:bytes|traffic)\b/i, 'proxies, forwards traffic'],
  [/\bwith commas between\b/i, 'comma-separated'],
  [/\b(?:anyone|someone|no one|everyone)\b/i, 'a client, a user: name what is meant'],
  [/\b(?:is|are|was|were) (?:no longer |not )?heard\b/i, 'sends heartbeats, is reachable'],
  [
    /behaviour|(?<!aria-)labelled|colour|normalise|favour|cancelled/i,
    'American spelling, as in the Kubernetes documentation',
  ],
  [/\b(?:link|cloud|hub|server|router|API server) (?:is|was) away\b/i, 'is unreachable, is disconnected'],
];

/** Not prose of this project: recorded output of other programs, licences, and this list itself. */
const SKIPPED = [
  /^package-lock\.json$/,
  /^LICENSE$/,
  /^scripts\/check-words\.js$/,
  /^test\/kubectl\/cases\//,
  /\/testdata\//,
  /\/golden\/.*\.(json|yaml|txt)$/,
  /^test\/kubectl\/manifests\//,
  /go-facts\.js$|schema-facts\.js$/,
];

/** Words of Kubernetes and of other programs, quoted exactly, that may contain one of the phrases. */
const QUOTED = [
  /kubectl auth whoami/,
  /operation cancelled: actual cost limit exceeded/,
  /can not be (?:empty|specified simultaneously|less than status.capacity)|toleration can not be modified/,
];

const files = execFileSync('git', ['ls-files', '-co', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .trim()
  .split('\n')
  .filter((file) =>
    /\.(ts|js|cjs|lua|md|yaml|yml|json|sh|conf|service|txt)$|^bin\/|^scripts\/|^\.ci\//.test(file),
  )
  .filter((file) => !SKIPPED.some((pattern) => pattern.test(file)));

const only = process.argv.slice(2);
let found = 0;
for (const file of files) {
  if (only.length > 0 && !only.some((prefix) => file.startsWith(prefix))) continue;
  const lines = readFileSync(join(root, file), 'utf8').split('\n');
  lines.forEach((line, index) => {
    const text = QUOTED.reduce((rest, quoted) => rest.replace(quoted, ''), line);
    for (const [phrase, instead] of PHRASES) {
      const match = phrase.exec(text);
      if (match === null) continue;
      found += 1;
      console.error(`${file}:${index + 1}: "${match[0]}" -> ${instead}\n    ${line.trim().slice(0, 140)}`);
    }
  });
}
if (found > 0) {
  console.error(`${found} phrases to replace; CONTRIBUTING.md says how this project writes.`);
  process.exitCode = 1;
}
