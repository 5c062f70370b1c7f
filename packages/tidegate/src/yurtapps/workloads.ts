import type { Informer, Informers, KubeClient } from '@tidegate/kube';
import {
  EDGE_APPLICATION_LABEL,
  EDGE_APPLICATION_NAMESPACE_LABEL,
  type EdgeApplication,
  POOL_NAME_LABEL,
  type TemplateType,
} from '../api/index.ts';
import { WORKLOAD_RESOURCES } from './kinds.ts';
import type { Workload } from './status.ts';
import type { YurtApp } from './template.ts';
import type { LiveNames } from './translate.ts';

const INDEX = 'yurtapps/application';
const applicationOf = ({ metadata }: Workload): string[] => {
  const name = metadata.labels?.[EDGE_APPLICATION_LABEL];
  return name === undefined ? [] : [name];
};

/**
 * Reads the workloads of applications. An informer for a namespace is started when the first workload exists in it: before, the
 * manager may have no permission there. It is the informer of the controller of EdgeApplications.
 */
export class Workloads {
  readonly #informers: Informers;
  readonly #onFollow: (informer: Informer<Workload>) => void;
  readonly #followed = new Map<string, Informer<Workload>>();

  constructor(informers: Informers, onFollow: (informer: Informer<Workload>) => void) {
    this.#informers = informers;
    this.#onFollow = onFollow;
  }

  /** The workloads of the EdgeApplication, in the order of their names. */
  of(application: EdgeApplication | undefined): Workload[] {
    const { namespace = '', name = '' } = application?.metadata ?? {};
    const kinds = new Set(
      (application?.status?.manifestStatuses ?? [])
        .filter(({ identifier }) => identifier.uid !== undefined || identifier.resource !== undefined)
        .map(({ identifier }) => identifier.kind),
    );
    return (Object.keys(WORKLOAD_RESOURCES) as TemplateType[])
      .filter((type) => kinds.has(type))
      .flatMap((type) => this.#follow(type, namespace).cache.byIndex(INDEX, name))
      .toSorted((a, b) => (`${a.metadata.name}` < `${b.metadata.name}` ? -1 : 1));
  }

  #follow(type: TemplateType, namespace: string): Informer<Workload> {
    const id = `${type} ${namespace}`;
    const known = this.#followed.get(id);
    if (known !== undefined) return known;
    const informer = this.#informers.for(WORKLOAD_RESOURCES[type], {
      labelSelector: EDGE_APPLICATION_NAMESPACE_LABEL,
      namespace,
    });
    informer.addIndex(INDEX, applicationOf);
    this.#followed.set(id, informer);
    this.#onFollow(informer);
    return informer;
  }
}

/**
 * The names of the workloads that OpenYurt created for the application, by pool. Each has a generated suffix. They are read once,
 * when the EdgeApplication does not exist yet; afterwards they are in its spec.
 */
export async function liveNames(
  client: KubeClient,
  app: YurtApp,
  type: TemplateType,
  application: EdgeApplication | undefined,
  signal: AbortSignal,
): Promise<LiveNames> {
  if (application !== undefined) return namesIn(application, `${app.metadata.name}`);
  const { items } = await client.list(WORKLOAD_RESOURCES[type], {
    namespace: `${app.metadata.namespace}`,
    labelSelector: POOL_NAME_LABEL,
    signal,
  });
  const ours = items.filter(({ metadata }) =>
    metadata.ownerReferences?.some(({ uid, controller }) => controller && uid === app.metadata.uid),
  );
  return new Map(ours.map(({ metadata }) => [`${metadata.labels?.[POOL_NAME_LABEL]}`, `${metadata.name}`]));
}

const namesIn = ({ spec }: EdgeApplication, name: string): LiveNames =>
  new Map(
    (spec.workloadScope?.targetNodeGroups ?? []).flatMap((target) => {
      const live = target.workloadNames?.[name];
      return live === undefined ? [] : [[target.name, live] as const];
    }),
  );
