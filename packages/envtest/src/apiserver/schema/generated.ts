/**
 * Reads the output of scripts/generate-schemas.js in dist/schemas: the schemas of the built-in kinds, with references
 * by name, their descriptions, and their field numbers. The descriptions are in a separate file because they are three
 * times as large and only `kubectl explain` needs them; the field numbers because only protobuf needs them.
 */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Schema } from './types.ts';

/** A generated schema, which can have a `$ref` in place of every nested schema. */
export interface RawSchema extends Omit<Schema, 'properties' | 'items' | 'additionalProperties'> {
  $ref?: string;
  properties?: Record<string, RawSchema>;
  items?: RawSchema;
  additionalProperties?: RawSchema;
}

/** How the Go struct of a type writes its fields. */
export interface StructFacts {
  /** Fields that keep an explicit zero value. */
  keepZero: string[];
  /** Fields that are always written, even if they are not set. */
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

/** Definition name -> field -> text. The field '' is the type itself. */
export type Descriptions = Record<string, Record<string, string>>;

/** This module runs from src/ in tests and from dist/ otherwise. Both are below the root of the package. */
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

/** Definition name without the prefix `io.k8s.api.` -> its fields in the order of their numbers. */
export type FieldNumbers = Record<string, string>;

let definitions: Definitions | undefined;
let descriptions: Descriptions | undefined;
let fieldNumbers: FieldNumbers | undefined;

export const loadDefinitions = (): Definitions => {
  definitions ??= readGenerated('definitions.json') as Definitions;
  return definitions;
};

export const loadDescriptions = (): Descriptions => {
  descriptions ??= readGenerated('descriptions.json') as Descriptions;
  return descriptions;
};

export const loadFieldNumbers = (): FieldNumbers => {
  fieldNumbers ??= readGenerated('field-numbers.json') as FieldNumbers;
  return fieldNumbers;
};
