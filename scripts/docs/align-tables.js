// Aligns the columns of Markdown tables, so that they are readable in the source, too.
import { table } from './markdown.js';

/** The page with all tables outside of code blocks aligned. */
export function alignTables(markdown) {
  const aligned = [];
  let rows = [];
  let fenced = false;
  for (const line of markdown.split('\n')) {
    if (/^ *```/.test(line)) fenced = !fenced;
    if (!fenced && line.startsWith('|')) {
      rows.push(line);
      continue;
    }
    aligned.push(...alignedRows(rows), line);
    rows = [];
  }
  return [...aligned, ...alignedRows(rows)].join('\n');
}

function alignedRows(rows) {
  const isTable = rows.length > 1 && /^\|(?: *:?-+:? *\|)+$/.test(rows[1]);
  if (!isTable) return rows;
  const [headings, , ...body] = rows.map(cellsOf);
  return table(headings, body).split('\n');
}

/** A `|` after a backslash is part of its cell. */
const cellsOf = (row) =>
  row
    .replace(/^\| ?|\|$/g, '')
    .split(/(?<!\\)\|/)
    .map((text) => text.trim());
