/** Replaces `$(NAME)` by the value of the variable and `$$` by a dollar sign. Unknown names stay as written. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:(\$)|\(([^)]*)\))/g, (written, dollar: string | undefined, name: string) => {
    if (dollar !== undefined) return dollar;
    return Object.hasOwn(variables, name) ? variables[name]! : written;
  });
}
