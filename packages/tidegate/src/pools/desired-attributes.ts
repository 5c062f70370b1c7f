import { labelKeyProblems, labelValueProblems } from '@tidegate/kube';
import {
  HOST_NETWORK_LABEL,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type NodeGroup,
  type NodePool,
  ZONE_LABEL,
} from '../api/index.ts';
import { type Attributes, taintValues } from './attribute-record.ts';

export interface DesiredAttributes extends Attributes {
  /** Entries in the spec of the pool that are not valid on a node, and why. */
  readonly problems: readonly string[];
}

/** The attributes that a node gets from its NodePool and its NodeGroup. */
export function desiredAttributes(
  pool: NodePool | undefined,
  group: NodeGroup | undefined,
): DesiredAttributes {
  const problems: string[] = [];
  const { labels, annotations, taints } = pool?.spec ?? {};
  const anyValue = (): string[] => [];
  return {
    labels: {
      ...validEntries('label', labels, labelValueProblems, problems),
      ...membershipLabels(pool, group),
    },
    annotations: validEntries('annotation', annotations, anyValue, problems),
    taints: validEntries('taint', taintValues(taints), labelValueProblems, problems),
    problems,
  };
}

function membershipLabels(pool: NodePool | undefined, group: NodeGroup | undefined): Record<string, string> {
  return {
    ...(pool && { [NODE_POOL_LABEL]: pool.metadata.name ?? '' }),
    ...(pool?.spec?.hostNetwork === true && { [HOST_NETWORK_LABEL]: 'true' }),
    ...(group && { [NODE_GROUP_LABEL]: group.metadata.name ?? '' }),
    ...(group?.spec?.topologyEnabled === true && { [ZONE_LABEL]: group.metadata.name ?? '' }),
  };
}

/** Leaves out invalid entries, because the API server would reject the whole patch because of one of them. */
function validEntries(
  what: string,
  map: Readonly<Record<string, string>> | undefined,
  valueProblems: (value: string) => string[],
  problems: string[],
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(map ?? {})) {
    const name = what === 'taint' ? key.slice(0, key.lastIndexOf(':')) : key;
    const entryProblems = [...labelKeyProblems(name), ...valueProblems(value)];
    if (entryProblems.length === 0) result[key] = value;
    else problems.push(`${what} ${key}=${value}: ${entryProblems.join('; ')}`);
  }
  return result;
}
