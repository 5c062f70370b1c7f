/**
 * Reads what scripts/generate-schemas.js wrote to dist/schemas: the schemas of the built-in kinds, with references by
 * name, and apart from them their descriptions, which are three times as large and wanted by `kubectl explain` only.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Schema } from './types.ts';

/** A schema as generated: wherever a Schema may stand, `$ref` may stand instead. */
export interface RawSchema extends Omit<Schema, 'properties' | 'items' | 'additionalProperties'> {
  $ref?: string;
  properties?: Record<string, RawSchema>;
  items?: RawSchema;
  additionalProperties?: RawSchema;
}

/** How the Go struct behind a type writes its fields. */
export interface StructFacts {
  /** Fields whose zero value stays when it was given. */
  keepZero: string[];
  /** Fields that are written even when nobody gave them. */
  write: string[];
  /** Go's names of string types, by field. */
  names: Record<string, string>;
}

export interface Definitions {
  /** `apps/v1/Deployment` -> `io.k8s.api.apps.v1.Deployment`. */
  kinds: Record<string, string>;
  definitions: Record<string, RawSchema>;
  structs: Record<string, StructFacts>;
}

/** Definition name -> field -> text; the field '' stands for the type itself. */
export type Descriptions = Record<string, Record<string, string>>;

/** The same file is read from src/ in tests and from a bundle in dist/; both lie below the package's root. */
function packageRoot(): string {
  let directory = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory)
      throw new Error('package.json not found above the program: the installation is broken');
    directory = parent;
  }
  return directory;
}

function readGenerated(name: string): unknown {
  const file = join(packageRoot(), 'dist', 'schemas', name);
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`cannot read ${file}: run "npm run build" to generate it`, { cause });
  }
}

let definitions: Definitions | undefined;
let descriptions: Descriptions | undefined;

export const loadDefinitions = (): Definitions => {
  definitions ??= readGenerated('definitions.json') as Definitions;
  return definitions;
};

export const loadDescriptions = (): Descriptions => {
  descriptions ??= readGenerated('descriptions.json') as Descriptions;
  return descriptions;
};
