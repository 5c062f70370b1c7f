import { EnvError } from '../contracts.ts';

/** No program can receive a longer variable or argument: the kernel refuses it (MAX_ARG_STRLEN). */
const MAX_BYTES = 128 * 1024;

/**
 * Replaces `$(NAME)` by the value of the variable and `$$` by a dollar sign. Unknown names stay as written. Throws an
 * EnvError if the result is too long: thirty variables that each contain the previous one twice would be a gigabyte.
 */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  let size = text.length;
  return text.replace(/\$(?:(\$)|\(([^)]*)\))/g, (written, dollar: string | undefined, name: string) => {
    if (dollar !== undefined) return dollar;
    const value = Object.hasOwn(variables, name) ? variables[name]! : written;
    size += value.length;
    if (size > MAX_BYTES)
      throw new EnvError(
        `the value ${JSON.stringify(text.slice(0, 40))} has more than 128 KiB after $(${name}) is replaced`,
      );
    return value;
  });
}
