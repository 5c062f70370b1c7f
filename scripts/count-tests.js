// Prints the outcome of the last `npm test`, `npm run test:kube`, `npm run test:octavia` and `npm run test:package` in one line, from the reports that vitest left behind.
import { existsSync, readFileSync } from 'node:fs';

const reports = ['report.json', 'report.kube.json', 'report.octavia.json', 'report.package.json']
  .map((name) => `node_modules/.vitest/${name}`)
  .filter((path) => existsSync(path))
  .map((path) => JSON.parse(readFileSync(path, 'utf8')));
const sum = (field) => reports.reduce((total, report) => total + report[field], 0);
const skipped = sum('numPendingTests');
console.log(
  `${sum('numPassedTests')} passed, ${sum('numFailedTests')} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
);
