// Prints the outcome of the last `npm test` in one line, from the report that vitest left behind.
import { readFileSync } from 'node:fs';

const report = JSON.parse(readFileSync('node_modules/.vitest/report.json', 'utf8'));
const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = report;
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`);
