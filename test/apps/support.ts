/** What tests of applications share: running controllers, objects to deploy, and waiting for results. */
import { setMaxListeners } from 'node:events';
import {
  EventRecorder,
  getCondition,
  Informers,
  isNotFound,
  type KubeClient,
  type KubeObject,
  type Logger,
  Metrics,
  type Resource,
  silentLogger,
  systemClock,
} from '@tidegate/kube';
import {
  EDGE_APPLICATIONS,
  type EdgeApplication,
  type EdgeApplicationSpec,
  type ManifestStatus,
} from '../../packages/tidegate/src/api/index.ts';
import { applicationController } from '../../packages/tidegate/src/apps/index.ts';
import { yurtAppControllers } from '../../packages/tidegate/src/yurtapps/index.ts';
import { eventually } from '../support/patience.ts';

/** Runs the controllers of applications, also of those of OpenYurt, with this client. Call the result to stop it. */
export function runApplications(client: KubeClient, log: Logger = silentLogger): () => Promise<void> {
  const stop = new AbortController();
  // Every controller adds a listener.
  setMaxListeners(0, stop.signal);
  const informers = new Informers(client, { log });
  const recorder = new EventRecorder(client, { component: 'tidegate-apps' });
  const context = { client, informers, recorder, metrics: new Metrics(), log, clock: systemClock };
  const controllers = [applicationController(context), ...yurtAppControllers(context)];
  const running = Promise.all([
    informers.run(stop.signal),
    ...controllers.map((controller) => controller.run(stop.signal)),
  ]);
  return async () => {
    stop.abort();
    await running;
    await recorder.close();
  };
}

export const configMap = (name: string, data: Record<string, string> = {}, metadata: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data,
});

export const deployment = (name = 'web', spec: object = {}) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'web', image: 'web:1' }], ...spec },
    },
  },
});

export const application = (
  name: string,
  manifests: object[],
  workloadScope: EdgeApplicationSpec['workloadScope'] = {},
  namespace = 'default',
): EdgeApplication => ({
  apiVersion: 'apps.kubeedge.io/v1alpha1',
  kind: 'EdgeApplication',
  metadata: { name, namespace },
  spec: { workloadTemplate: { manifests: manifests as Record<string, unknown>[] }, workloadScope },
});

/** Reads and awaits objects of one namespace with this client. */
export const observe = (client: KubeClient, namespace = 'default') => {
  const find = async <T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    where = namespace,
  ): Promise<T | undefined> => {
    try {
      return await client.get(resource, { name, ...(resource.namespaced && { namespace: where }) });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  };
  const appears = <T extends KubeObject>(
    resource: Resource<T>,
    name: string,
    fits: (object: T) => boolean = () => true,
  ): Promise<T> =>
    eventually(async () => {
      const found = await find(resource, name);
      return found !== undefined && fits(found) ? found : undefined;
    });
  return {
    find,
    appears,
    isGone: (resource: Resource, name: string) =>
      eventually(async () => (await find(resource, name)) === undefined || undefined),
    /** Waits until the condition Ready, as `status reason: message`, matches and is about the current spec. */
    readyBecomes: (name: string, text: RegExp): Promise<EdgeApplication> =>
      appears(
        EDGE_APPLICATIONS,
        name,
        (found) =>
          text.test(readyText(found)) && found.status?.observedGeneration === found.metadata.generation,
      ),
  };
};

export const readyText = ({ status }: EdgeApplication): string => {
  const ready = getCondition(status?.conditions, 'Ready');
  return `${ready?.status} ${ready?.reason}: ${ready?.message}`;
};

export const entryOf = ({ status }: EdgeApplication, name: string): ManifestStatus | undefined =>
  status?.manifestStatuses?.find(({ identifier }) => identifier.name === name);
