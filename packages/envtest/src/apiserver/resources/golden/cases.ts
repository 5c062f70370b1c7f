/**
 * Golden cases: `<plural>.in.yaml` has the requests and `<plural>.out.yaml` the recorded results of kube-apiserver
 * 1.36. To record them again, run the tests of this folder with GOLDEN_KUBECONFIG set to an admin kubeconfig of a
 * cluster.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { KubeObject } from '@tidegate/kube';
import { parse, stringify } from 'yaml';
import type { Column } from '../types.ts';

export interface GoldenCase {
  case: string;
  create: KubeObject;
  /** A merge patch that is applied to the created object. */
  patch?: Record<string, unknown>;
}

export interface Outcome {
  case: string;
  error?: string;
  object?: KubeObject;
  /** The row in the table. */
  cells?: unknown[];
  warnings?: string[];
}

const directory = import.meta.dirname;

export const goldenResources = (): string[] =>
  readdirSync(directory)
    .filter((file) => file.endsWith('.in.yaml'))
    .map((file) => file.slice(0, -'.in.yaml'.length));

export const readCases = (plural: string): GoldenCase[] => read(`${plural}.in.yaml`) as GoldenCase[];
export const readOutcomes = (plural: string): Outcome[] => read(`${plural}.out.yaml`) as Outcome[];

/** Descriptions come from the documentation of Kubernetes at run time, so they are not recorded. */
export type ColumnShape = Omit<Column, 'description'>;
export type ColumnsByResource = Record<string, ColumnShape[]>;

export const columnShape = ({ description: _, ...shape }: Column): ColumnShape => shape;

export const readColumns = (): ColumnsByResource => read('columns.yaml') as ColumnsByResource;

export const writeColumns = (columns: ColumnsByResource): void => write('columns.yaml', columns);

const read = (file: string): unknown =>
  parse(readFileSync(join(directory, file), 'utf8'), { version: '1.1' });

/** Error messages can contain generated values as well. */
export const comparableText = (text: string): string =>
  text.replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uid');

export function writeOutcomes(plural: string, outcomes: Outcome[]): void {
  write(`${plural}.out.yaml`, outcomes);
}

function write(file: string, content: unknown): void {
  writeFileSync(join(directory, file), stringify(content, { version: '1.1', lineWidth: 0 }));
}

/** Removes values that differ from run to run: generated names and random values. */
export function comparable(object: KubeObject, written: unknown): KubeObject {
  const {
    uid = '',
    creationTimestamp: _,
    resourceVersion: __,
    managedFields: ___,
    ...metadata
  } = object.metadata;
  const given = JSON.stringify(written);
  const text = JSON.stringify({ ...object, metadata }, (key, value: unknown) => {
    const drawn =
      /^(clusterIP|nodePort|healthCheckNodePort)$/.test(key) && !given.includes(JSON.stringify(value));
    if (drawn || key === 'lastTransitionTime' || key === 'lastPhaseTransitionTime') return 'drawn';
    if (key === 'clusterIPs' && Array.isArray(value)) {
      return value.map((ip) => (given.includes(JSON.stringify(ip)) ? ip : 'drawn'));
    }
    return value;
  });
  const stable = uid === '' ? text : text.replaceAll(uid, 'uid');
  return JSON.parse(stable) as KubeObject;
}

export function comparableCells(cells: unknown[], written: unknown): unknown[] {
  const given = JSON.stringify(written);
  const drawn = (text: string, whole: string): string =>
    given.includes(text) ? whole : whole.replace(text, 'drawn');
  return cells.map((cell) => {
    if (typeof cell !== 'string') return cell;
    return cell
      .replace(/^10\.96\.\d+\.\d+$/, (ip) => drawn(ip, ip))
      .replaceAll(/:(3\d{4})\//g, (whole, port: string) => drawn(port, whole))
      .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'uid')
      .replace(/^\d+s$|^\d{4}-\d\d-\d\dT.*Z$/, 'now');
  });
}
