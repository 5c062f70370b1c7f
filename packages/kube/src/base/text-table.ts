/** Formats rows as columns that are as wide as their widest cell. Lines have no trailing spaces. */
export function textTable(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join('   ');
  return rows.map((row) => line(row).trimEnd()).join('\n');
}
