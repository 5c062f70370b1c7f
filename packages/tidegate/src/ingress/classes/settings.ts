import { isIP } from 'node:net';
import { labelValueProblems } from '@tidegate/kube';
import { MOST_ROUTER_HOSTS, type RouterCapacity, type RouterWorkload } from '../../api/index.ts';

/** Parsed parameters of a class. */
export interface ClassSettings {
  readonly capacity: Required<Pick<RouterCapacity, 'maxHosts'>> & Pick<RouterCapacity, 'maxRules'>;
  readonly workload: RouterWorkload;
  /** The routers of the class run in this pool. */
  readonly pool?: string;
  /** Classes with the same value share routers, and so an address. */
  readonly sharedAddress?: string;
  /** Write the address of a router to an annotation of its nodes, in the format of Kuryr. */
  readonly publishNodeAnnotation: boolean;
}

interface Draft {
  capacity: { maxHosts: number; maxRules?: number };
  workload: RouterWorkload;
  pool?: string;
  sharedAddress?: string;
  publishNodeAnnotation: boolean;
}

/** The value of a parameter is invalid. The message says which values are valid. */
class ParameterError extends Error {}

/** Parses a value and stores it in the draft. Throws ParameterError. */
type Read = (value: string, into: Draft) => void;

/** `spec.hosts` lists every host, and an object can have about 1.5 MB. This leaves room for long names. */
const DEFAULT_MAX_HOSTS = 10_000;
const MAX_PORT = 65_535;

const PARAMETERS: Readonly<Record<string, Read>> = {
  maxHosts: (value, { capacity }) => {
    capacity.maxHosts = integer(value, 1, MOST_ROUTER_HOSTS);
  },
  maxRules: (value, { capacity }) => {
    capacity.maxRules = integer(value, 1, 10_000_000);
  },
  replicas: (value, { workload }) => {
    workload.replicas = integer(value, 0, 1_000);
  },
  image: (value, { workload }) => {
    workload.image = nonEmpty(value);
  },
  namespace: (value, { workload }) => {
    workload.namespace = label(value);
  },
  serviceType: (value, { workload }) => {
    workload.serviceType = oneOf(value, ['NodePort', 'LoadBalancer', 'ClusterIP']);
  },
  addresses: (value, { workload }) => {
    workload.addresses = value.split(',').map((part) => address(part.trim()));
  },
  httpPort: (value, { workload }) => {
    workload.httpPort = integer(value, 1, MAX_PORT);
  },
  httpsPort: (value, { workload }) => {
    workload.httpsPort = integer(value, 1, MAX_PORT);
  },
  httpNodePort: (value, { workload }) => {
    workload.nodePorts = { ...workload.nodePorts, http: integer(value, 1, MAX_PORT) };
  },
  httpsNodePort: (value, { workload }) => {
    workload.nodePorts = { ...workload.nodePorts, https: integer(value, 1, MAX_PORT) };
  },
  accessLog: (value, { workload }) => {
    workload.accessLog = oneOf(value, ['true', 'false']) === 'true';
  },
  pool: (value, draft) => {
    draft.pool = label(value);
  },
  sharedAddress: (value, draft) => {
    draft.sharedAddress = label(value);
  },
  publishNodeAnnotation: (value, draft) => {
    draft.publishNodeAnnotation = oneOf(value, ['true', 'false']) === 'true';
  },
};

/**
 * Parses the parameters of a class. `problems` are sentences for the user; if there are any, do not use the settings.
 * `unknown` parameters are reported and ignored.
 */
export function readSettings(parameters: Readonly<Record<string, string>>): {
  settings: ClassSettings;
  problems: string[];
  unknown: string[];
} {
  const settings: Draft = {
    capacity: { maxHosts: DEFAULT_MAX_HOSTS },
    workload: {},
    publishNodeAnnotation: false,
  };
  const problems: string[] = [];
  const unknown: string[] = [];
  for (const [key, value] of Object.entries(parameters)) {
    const read = Object.hasOwn(PARAMETERS, key) ? PARAMETERS[key] : undefined;
    if (read === undefined) {
      unknown.push(key);
      continue;
    }
    try {
      read(value, settings);
    } catch (error) {
      if (!(error instanceof ParameterError)) throw error;
      problems.push(`${key}: ${JSON.stringify(value.slice(0, 100))} is invalid: ${error.message}`);
    }
  }
  return { settings, problems, unknown };
}

export const knownParameters = (): string[] => Object.keys(PARAMETERS).toSorted();

function integer(value: string, least: number, most: number): number {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
  if (number >= least && number <= most) return number;
  throw new ParameterError(`write a number from ${least} to ${most}`);
}

function oneOf<const T extends string>(value: string, words: readonly T[]): T {
  const word = words.find((each) => each === value);
  if (word === undefined) throw new ParameterError(`write one of ${words.join(', ')}`);
  return word;
}

function label(value: string): string {
  if (value !== '' && labelValueProblems(value).length === 0) return value;
  throw new ParameterError('write a name of at most 63 letters, digits and dashes');
}

function address(value: string): string {
  if (isIP(value) === 0) throw new ParameterError('write comma-separated IP addresses');
  return value;
}

function nonEmpty(value: string): string {
  if (value.trim() === '') throw new ParameterError('write an image name, or remove the parameter');
  return value;
}
