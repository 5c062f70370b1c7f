/** Records the results of the golden cases with a real kube-apiserver. */
import { readFileSync } from 'node:fs';
import { apiVersionOf, type KubeObject, type Status } from '@tidegate/kube';
import { Agent, request } from 'undici';
import { parse } from 'yaml';
import type { Column, ResourceDefinition } from '../types.ts';
import {
  type ColumnShape,
  columnShape,
  comparable,
  comparableCells,
  comparableText,
  type GoldenCase,
  type Outcome,
} from './cases.ts';

const NAMESPACE = 'golden';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';

interface Kubeconfig {
  clusters: { cluster: { server: string; 'certificate-authority-data': string } }[];
  users: { user: { 'client-certificate-data': string; 'client-key-data': string } }[];
}

interface TableAnswer {
  columnDefinitions?: unknown[];
  rows: { cells: unknown[] }[];
}

interface Answer {
  object: KubeObject;
  warnings: string[];
}

export class Recorder {
  readonly #server: string;
  readonly #agent: Agent;

  constructor(kubeconfig: string) {
    const { clusters, users } = parse(readFileSync(kubeconfig, 'utf8')) as Kubeconfig;
    const decode = (data: string | undefined): Buffer => Buffer.from(data ?? '', 'base64');
    this.#server = clusters[0]?.cluster.server ?? '';
    this.#agent = new Agent({
      connect: {
        ca: decode(clusters[0]?.cluster['certificate-authority-data']),
        cert: decode(users[0]?.user['client-certificate-data']),
        key: decode(users[0]?.user['client-key-data']),
      },
    });
  }

  async prepare(): Promise<void> {
    await this.#send('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE } });
    await this.#send('POST', `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`, {
      metadata: { name: 'default' },
    });
  }

  async record(definition: ResourceDefinition, golden: GoldenCase): Promise<Outcome> {
    const base = pathOf(definition, golden.create.apiVersion);
    const dry = '?dryRun=All';
    if (golden.patch === undefined) {
      const answer = await this.#send('POST', `${base}${dry}`, golden.create);
      return outcome(golden, answer, await this.#send('POST', `${base}${dry}`, golden.create, TABLE));
    }
    const created = await this.#send('POST', base, golden.create);
    if (created.object.kind === 'Status')
      throw new Error(`${golden.case}: ${JSON.stringify(created.object)}`);
    const path = `${base}/${golden.create.metadata.name ?? ''}`;
    const patched = await this.#send('PATCH', `${path}${dry}`, golden.patch);
    const table = await this.#send('PATCH', `${path}${dry}`, golden.patch, TABLE);
    // No controller removes the finalizers of the server that is recorded.
    await this.#send('PATCH', path, { metadata: { finalizers: null } });
    await this.#send('DELETE', path, { gracePeriodSeconds: 0, propagationPolicy: 'Background' });
    return outcome(golden, patched, table);
  }

  /** Returns undefined if the server does not have the resource or cannot list it. */
  async columns(definition: ResourceDefinition): Promise<ColumnShape[] | undefined> {
    const { group, versions, verbs } = definition;
    if (!verbs.includes('list')) return undefined;
    const path = pathOf(definition, apiVersionOf(group, versions[0]?.name ?? ''));
    const { statusCode, body } = await request(`${this.#server}${path}?limit=1`, {
      dispatcher: this.#agent,
      headers: { accept: TABLE },
    });
    const text = await body.text();
    if (statusCode !== 200) return undefined;
    const { columnDefinitions } = JSON.parse(text) as { columnDefinitions: Column[] };
    return columnDefinitions.map(columnShape);
  }

  async #send(
    method: 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body: unknown,
    accept = 'application/json',
  ): Promise<Answer> {
    const { headers, body: answer } = await request(`${this.#server}${path}`, {
      method,
      dispatcher: this.#agent,
      headers: {
        accept,
        'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      },
      body: JSON.stringify(body),
    });
    const warnings = [headers.warning ?? []].flat().map((text) => /^299 - "(.*)"$/.exec(text)?.[1] ?? text);
    return {
      object: (await answer.json()) as KubeObject,
      warnings: warnings.map((text) => text.replaceAll('\\"', '"')),
    };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }
}

function pathOf({ plural, namespaced }: ResourceDefinition, apiVersion: string): string {
  const root = apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return namespaced ? `${root}/namespaces/${NAMESPACE}/${plural}` : `${root}/${plural}`;
}

function outcome(golden: GoldenCase, { object, warnings }: Answer, table: Answer): Outcome {
  const failed = object.kind === 'Status';
  const { rows = [], columnDefinitions = [] } = table.object as Partial<TableAnswer>;
  // Clients do not show cells without a column.
  const cells = rows[0]?.cells.slice(0, columnDefinitions?.length) ?? [];
  return {
    case: golden.case,
    ...(failed && { error: comparableText((object as unknown as Status).message ?? '') }),
    ...(!failed && { object: comparable(object, golden), cells: comparableCells(cells, golden) }),
    ...(warnings.length > 0 && { warnings }),
  };
}
