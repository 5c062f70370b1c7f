/** Prometheus and promtool of Debian, which are not installed, and the objects of Tidegate for the Prometheus Operator. */
import { readFileSync } from 'node:fs';
import type { KubeObject } from '@tidegate/kube';
import { parseAllDocuments } from 'yaml';
import { run } from '../../support/process.ts';
import { repositoryFile } from '../../support/repository.ts';

export interface Rule {
  alert: string;
  expr: string;
  labels: Record<string, string>;
  annotations: Record<string, string>;
}

/** The folder with `prometheus` and `promtool`. The first call on a machine downloads 19 MB. */
export const prometheusPrograms = async (): Promise<string> =>
  (await run([process.execPath, repositoryFile('scripts/prometheus.js')])).trim();

/** An object of the overlay `monitoring`. */
export function monitoringObject<T>(kind: string): KubeObject & { spec: T } {
  const text = readFileSync(repositoryFile('deploy/overlays/monitoring/monitoring.yaml'), 'utf8');
  const objects = parseAllDocuments(text).map((document) => document.toJS() as KubeObject & { spec: T });
  const found = objects.find((object) => object.kind === kind);
  if (found === undefined) throw new Error(`the overlay monitoring has no ${kind}`);
  return found;
}

/** The groups of alert rules, as a rule file of Prometheus contains them. */
export const ruleGroups = (): { name: string; rules: Rule[] }[] =>
  monitoringObject<{ groups: { name: string; rules: Rule[] }[] }>('PrometheusRule').spec.groups;
