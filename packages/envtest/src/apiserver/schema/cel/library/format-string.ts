/** `"%s has %d".format([name, count])`. */
export function formatString(template: string, args: unknown[]): string {
  let next = 0;
  return template.replace(
    /%(?:%|(?:\.(\d+))?([a-zA-Z]))/g,
    (whole, precision: string | undefined, verb: string | undefined) => {
      if (whole === '%%') return '%';
      if (next >= args.length) throw new Error(`index ${next} out of range`);
      return formatOne(args[next++], verb ?? '', precision);
    },
  );
}

function formatOne(value: unknown, verb: string, precision: string | undefined): string {
  switch (verb) {
    case 's':
      return show(value);
    case 'd':
      return show(value);
    case 'f':
      return Number(value).toFixed(precision === undefined ? 6 : Number(precision));
    case 'e':
      return Number(value)
        .toExponential(precision === undefined ? 6 : Number(precision))
        .replace(/e([+-])(\d)$/, 'e$10$2');
    case 'b':
      return typeof value === 'boolean' ? (value ? '1' : '0') : BigInt(value as bigint).toString(2);
    case 'o':
      return BigInt(value as bigint).toString(8);
    case 'x':
    case 'X': {
      const hex = typeof value === 'bigint' ? value.toString(16) : Buffer.from(String(value)).toString('hex');
      return verb === 'X' ? hex.toUpperCase() : hex;
    }
    default:
      throw new Error(`could not parse formatting clause: unrecognized formatting clause "${verb}"`);
  }
}

function show(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(show).join(', ')}]`;
  if (value instanceof Date) return value.toISOString().replace(/\.000Z$/, 'Z');
  if (typeof value !== 'object' || value === null) return String(value);
  if (value.constructor !== Object) return String(value);
  const entries = Object.entries(value).map(([key, item]) => `${key}: ${show(item)}`);
  return `{${entries.sort().join(', ')}}`;
}
