import { ConfigError } from './cluster.ts';

/** Reads fields of parsed YAML or JSON. Errors name the place and the expected type. */
export class Fields {
  readonly #value: Record<string, unknown>;
  readonly #where: string;

  /** `where` names the file and the entry, for example `/home/a/.kube/config: user "admin"`. */
  constructor(value: unknown, where: string) {
    if (value !== null && value !== undefined && (typeof value !== 'object' || Array.isArray(value))) {
      throw new ConfigError(
        `${where}: expected a mapping, found ${Array.isArray(value) ? 'a list' : typeof value}`,
      );
    }
    this.#value = { ...value };
    this.#where = where;
  }

  string(name: string): string | undefined {
    const value = this.#value[name];
    if (value === undefined || value === null || value === '') return undefined;
    if (typeof value === 'string') return value;
    throw this.#wrong(name, 'a string', value);
  }

  requiredString(name: string, help: string): string {
    const value = this.string(name);
    if (value === undefined) throw new ConfigError(`${this.#where}: ${name} is missing; ${help}`);
    return value;
  }

  boolean(name: string): boolean {
    const value = this.#value[name] ?? false;
    if (typeof value === 'boolean') return value;
    throw this.#wrong(name, 'true or false', value);
  }

  /** Base64-encoded PEM. */
  data(name: string): string | undefined {
    const text = this.string(name);
    if (text === undefined) return undefined;
    if (!/^[A-Za-z0-9+/\s]+={0,2}\s*$/.test(text)) {
      throw new ConfigError(`${this.#where}: ${name} is not base64; paste the output of "base64 -w0 FILE"`);
    }
    return Buffer.from(text, 'base64').toString('utf8');
  }

  strings(name: string): string[] {
    return this.#list(name).map((value) => {
      if (typeof value !== 'string') throw this.#wrong(name, 'a list of strings', value);
      return value;
    });
  }

  list(name: string): Fields[] {
    return this.#list(name).map((value, i) => new Fields(value, `${this.#where}: ${name}[${i}]`));
  }

  value(name: string): unknown {
    return this.#value[name];
  }

  has(name: string): boolean {
    return this.#value[name] !== undefined && this.#value[name] !== null;
  }

  child(name: string): Fields {
    return new Fields(this.#value[name], `${this.#where}: ${name}`);
  }

  keys(): string[] {
    return Object.keys(this.#value);
  }

  #list(name: string): unknown[] {
    const value = this.#value[name] ?? [];
    if (Array.isArray(value)) return value;
    throw this.#wrong(name, 'a list', value);
  }

  /** Reports the type, never the value, which may be a secret. */
  #wrong(name: string, expected: string, value: unknown): ConfigError {
    return new ConfigError(`${this.#where}: ${name} must be ${expected}, but is a ${typeof value}`);
  }
}
