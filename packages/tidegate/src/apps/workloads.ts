import { type KubeObject, parseApiVersion } from '@tidegate/kube';
import type { Path } from './json.ts';

/** The properties of a kind that runs pods, as far as editions need them. */
export interface Workload {
  /** The path of the object that has the metadata and the spec of the pods. */
  readonly pod: Path;
  /**
   * Whether the manifest contains the selector for its pods. The API server generates the selector of a Job, unless
   * `spec.manualSelector` is true ("given if manual").
   */
  readonly selector: 'given' | 'given if manual' | 'none';
  /** Whether the kind has `spec.replicas`. */
  readonly replicas: boolean;
  /** The maximum length of the name. Some controllers build names and labels, with lower limits, from the name. */
  readonly maxNameLength: number;
}

const TEMPLATE: Path = ['spec', 'template'];
const MAX_NAME_LENGTH = 253;

const WORKLOADS: Readonly<Record<string, Workload>> = {
  'apps/Deployment': { pod: TEMPLATE, selector: 'given', replicas: true, maxNameLength: MAX_NAME_LENGTH },
  'apps/ReplicaSet': { pod: TEMPLATE, selector: 'given', replicas: true, maxNameLength: MAX_NAME_LENGTH },
  'apps/DaemonSet': { pod: TEMPLATE, selector: 'given', replicas: false, maxNameLength: MAX_NAME_LENGTH },
  // The label controller-revision-hash is the name, a hyphen and a hash of up to ten characters.
  'apps/StatefulSet': { pod: TEMPLATE, selector: 'given', replicas: true, maxNameLength: 52 },
  // The value of the label job-name is the name.
  'batch/Job': { pod: TEMPLATE, selector: 'given if manual', replicas: false, maxNameLength: 63 },
  'batch/CronJob': {
    pod: ['spec', 'jobTemplate', 'spec', 'template'],
    selector: 'none',
    replicas: false,
    // The names of its Jobs are the name and a suffix of 11 characters, and must fit into the label job-name.
    maxNameLength: 52,
  },
  '/Pod': { pod: [], selector: 'none', replicas: false, maxNameLength: MAX_NAME_LENGTH },
};

/** Returns undefined for kinds that do not run pods. Their objects are applied once, without editions. */
export const workloadOf = ({ apiVersion, kind }: KubeObject): Workload | undefined =>
  WORKLOADS[`${parseApiVersion(apiVersion).group}/${kind}`];
