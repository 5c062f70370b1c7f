import { isDeepStrictEqual } from 'node:util';
import {
  type Informer,
  type Informers,
  type KubeObject,
  type LabelSelector,
  matcherFromSelector,
  PODS,
  type Pod,
} from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL } from '../../api/index.ts';
import { read } from '../json.ts';
import { workloadOf } from '../workloads.ts';
import { type PodProblem, problemOf, summaryOf } from './pod-problems.ts';

const APPLICATION_INDEX = 'apps/pods';

/**
 * Watches the pods of applications, in namespaces with a workload that is not available, to report why its pods do not run.
 * Only a change of what a pod reports counts: pods change often.
 */
export class ApplicationPods {
  readonly #informers: Informers;
  /** Called with the key of an application whose pods report something new. */
  readonly #onChange: (application: string) => void;
  readonly #byNamespace = new Map<string, Informer<Pod>>();

  constructor(informers: Informers, onChange: (application: string) => void) {
    this.#informers = informers;
    this.#onChange = onChange;
  }

  /** What keeps the pods of this workload from running; undefined if they report nothing, or are not known yet. */
  problemOf(object: KubeObject): PodProblem | undefined {
    if (workloadOf(object) === undefined) return undefined;
    if (object.apiVersion === 'v1' && object.kind === 'Pod') return problemOf(object as Pod);
    const selector = read(object, ['spec', 'selector']);
    const { namespace = '', labels = {} } = object.metadata;
    const application = labels[EDGE_APPLICATION_LABEL];
    if (selector === undefined || application === undefined) return undefined;
    const matcher = matcherFromSelector(selector as LabelSelector);
    const pods = this.#podsIn(namespace)
      .cache.byIndex(APPLICATION_INDEX, application)
      .filter(({ metadata }) => !matcher.empty && matcher.matches(metadata.labels ?? {}));
    return summaryOf(pods);
  }

  #podsIn(namespace: string): Informer<Pod> {
    const known = this.#byNamespace.get(namespace);
    if (known !== undefined) return known;
    const informer = this.#informers.for(PODS, { namespace, labelSelector: EDGE_APPLICATION_LABEL });
    this.#byNamespace.set(namespace, informer);
    informer.addIndex(APPLICATION_INDEX, ({ metadata }) => {
      const name = metadata.labels?.[EDGE_APPLICATION_LABEL];
      return name === undefined ? [] : [name];
    });
    // An application in another namespace than its pods learns it with the next change of the workload.
    const changed = ({ metadata }: Pod): void =>
      this.#onChange(`${metadata.namespace}/${metadata.labels?.[EDGE_APPLICATION_LABEL]}`);
    informer.addHandler({
      onAdd: (pod) => problemOf(pod) !== undefined && changed(pod),
      onUpdate: (old, pod) => !isDeepStrictEqual(problemOf(old), problemOf(pod)) && changed(pod),
      onDelete: (pod) => problemOf(pod) !== undefined && changed(pod),
    });
    return informer;
  }
}
