/** A value of an annotation that cannot be used. */
export interface InvalidValue {
  /** Without its prefix. */
  readonly name: string;
  readonly message: string;
}

/** Reads annotations of ingress-nginx by their names without prefix, and collects what is not valid. */
export class PolicyReader {
  readonly invalidValues: InvalidValue[] = [];
  readonly #annotations: ReadonlyMap<string, string>;

  constructor(annotations: ReadonlyMap<string, string>) {
    this.#annotations = annotations;
  }

  has(name: string): boolean {
    return this.#annotations.has(name);
  }

  text(name: string): string | undefined {
    return this.#annotations.get(name)?.trim();
  }

  /** `otherwise`, if the annotation is absent or invalid. ingress-nginx accepts the same spellings. */
  flag(name: string, otherwise = false): boolean {
    const text = this.text(name);
    if (text === undefined) return otherwise;
    if (/^(?:0|f|false)$/i.test(text)) return false;
    if (/^(?:1|t|true)$/i.test(text)) return true;
    this.invalid(name, text, 'true or false');
    return otherwise;
  }

  /** One of these numbers, or the first one if the annotation is absent. */
  number(name: string, values: readonly [number, ...number[]]): number {
    const text = this.text(name);
    if (text === undefined) return values[0];
    const found = values.find((value) => String(value) === text);
    if (found === undefined) this.invalid(name, text, oneOf(values));
    return found ?? values[0];
  }

  /** One of these texts, or the first one if the annotation is absent or empty. */
  choice<V extends string>(name: string, values: readonly [V, ...V[]]): V {
    const text = this.text(name) ?? '';
    const found = values.find((value) => value === text);
    if (found === undefined && text !== '') this.invalid(name, text, oneOf(values));
    return found ?? values[0];
  }

  invalid(name: string, value: string, expected: string): void {
    const message = `Invalid value ${JSON.stringify(value.slice(0, 100))}: write ${expected}.`;
    this.invalidValues.push({ name, message });
  }
}

const oneOf = (values: readonly (string | number)[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`;
