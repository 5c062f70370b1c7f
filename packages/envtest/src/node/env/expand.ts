/** `$(NAME)` becomes the variable's value, `$$` a dollar sign; a name that nobody has set stays as it is written. */
export function expand(text: string, variables: Readonly<Record<string, string>>): string {
  return text.replace(/\$(?:(\$)|\(([^)]*)\))/g, (written, dollar: string | undefined, name: string) => {
    if (dollar !== undefined) return dollar;
    return Object.hasOwn(variables, name) ? variables[name]! : written;
  });
}
