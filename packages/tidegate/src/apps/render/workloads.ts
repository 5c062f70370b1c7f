import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import type { Path } from '../json.ts';

/** What is to be known of a kind that runs pods, to make editions of it. */
export interface Workload {
  /** Where the metadata and spec of its pods are. */
  readonly pod: Path;
  /** Whether it finds its pods by a selector that the manifest gives: a Job makes its own unless told otherwise. */
  readonly selector: 'given' | 'given if manual' | 'none';
  /** Whether `spec.replicas` says how many. */
  readonly replicas: boolean;
  /** Longer names would not fit into the names and labels that are made of them. */
  readonly longestName: number;
}

const TEMPLATE: Path = ['spec', 'template'];
const LONGEST_NAME = 253;

const WORKLOADS: Readonly<Record<string, Workload>> = {
  'apps/Deployment': { pod: TEMPLATE, selector: 'given', replicas: true, longestName: LONGEST_NAME },
  'apps/ReplicaSet': { pod: TEMPLATE, selector: 'given', replicas: true, longestName: LONGEST_NAME },
  'apps/DaemonSet': { pod: TEMPLATE, selector: 'given', replicas: false, longestName: LONGEST_NAME },
  // The label controller-revision-hash is the name and ten characters more.
  'apps/StatefulSet': { pod: TEMPLATE, selector: 'given', replicas: true, longestName: 52 },
  // The label job-name is the name.
  'batch/Job': { pod: TEMPLATE, selector: 'given if manual', replicas: false, longestName: 63 },
  'batch/CronJob': {
    pod: ['spec', 'jobTemplate', 'spec', 'template'],
    selector: 'none',
    replicas: false,
    // Jobs add the time to it.
    longestName: 52,
  },
  '/Pod': { pod: [], selector: 'none', replicas: false, longestName: LONGEST_NAME },
};

/** Undefined for kinds that are applied once, as they are. */
export const workloadOf = ({ apiVersion, kind }: KubeObject): Workload | undefined =>
  WORKLOADS[`${parseApiVersion(apiVersion).group}/${kind}`];
