/** What a provisioner accepts as parameters of a class. Plain data, so that an object in the cluster can contain it. */
export interface ParameterSchema {
  readonly keys: Readonly<Record<string, ParameterRule>>;
  /**
   * Keys that are not listed. `accept`: passed on. `report`: passed on, and an event of the class names them. `reject`:
   * the class is not provisioned. Default: `report`.
   */
  readonly unknown?: 'accept' | 'report' | 'reject';
}

/** A rule for one parameter. All values are text; the rule is about what the text stands for. */
export interface ParameterRule {
  readonly description: string;
  /** Default: `string`. */
  readonly type?: 'string' | 'integer' | 'boolean';
  /** Several comma-separated values, each as the other fields say. */
  readonly list?: boolean;
  /** For strings. `name`: a label value; `dnsLabel`: a part of the name of an object; `duration`: `500ms`, `30s`, `5m`, `1h`. */
  readonly format?: 'ip' | 'name' | 'dnsLabel' | 'uuid' | 'duration' | 'url';
  readonly enum?: readonly string[];
  /** For integers. */
  readonly minimum?: number;
  readonly maximum?: number;
  /** For strings. At most 65536 by default. */
  readonly maxLength?: number;
  readonly required?: boolean;
  /** For documentation; a provisioner applies it itself. */
  readonly default?: string;
  /** Parameters outside of the namespace of Tidegate may set it too. Default: false. */
  readonly byTenants?: boolean;
}

/** A value that cannot be used. `message` is a sentence without the key. */
export interface ParameterProblem {
  readonly key: string;
  readonly message: string;
}

/** Parameters that a schema cannot describe, because some depend on others. */
export interface MoreParameters {
  readonly names: { has(name: string): boolean };
  problems(parameters: Readonly<Record<string, string>>): readonly ParameterProblem[];
}
