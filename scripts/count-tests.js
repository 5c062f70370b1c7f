// Prints the outcome of the last `npm test` and of the last run of each other suite (`npm run test:kube`, ...) in one line, from
// the reports that Vitest left behind. The tests that failed come before it: the end of a long log is what people see.
import { existsSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';

const reports = [
  'report.json',
  'report.kube.json',
  'report.long.json',
  'report.octavia.json',
  'report.package.json',
]
  .map((name) => `node_modules/.vitest/${name}`)
  .filter((path) => existsSync(path))
  .map((path) => JSON.parse(readFileSync(path, 'utf8')));
for (const { name, assertionResults, status, message } of reports.flatMap(({ testResults }) => testResults)) {
  const file = relative(process.cwd(), name);
  const failed = assertionResults.filter((each) => each.status === 'failed');
  for (const { fullName, failureMessages } of failed)
    console.log(`failed: ${file}: ${fullName}\n${excerpt(failureMessages[0] ?? '')}`);
  if (failed.length === 0 && status === 'failed') console.log(`failed: ${file}\n${excerpt(message)}`);
}
const sum = (field) => reports.reduce((total, report) => total + report[field], 0);
const skipped = sum('numPendingTests');
console.log(
  `${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
);

/** The message of an error, without its stack. */
function excerpt(text) {
  const lines = text.split('\n').filter((line) => !/^\s+at /.test(line));
  return lines
    .slice(0, 10)
    .map((line) => `  ${line}`)
    .join('\n');
}
