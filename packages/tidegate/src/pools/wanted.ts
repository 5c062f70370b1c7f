import { labelKeyProblems, labelValueProblems } from '@tidegate/kube';
import {
  HOST_NETWORK_LABEL,
  NODE_GROUP_LABEL,
  NODE_POOL_LABEL,
  type NodeGroup,
  type NodePool,
  ZONE_LABEL,
} from '../api/index.ts';
import { type Attributes, taintValues } from './written.ts';

export interface Wanted extends Attributes {
  /** What a pool asks for and no node can have, and why. */
  readonly problems: readonly string[];
}

/** What a node gets from the pool and the group that it is in. */
export function wantedFrom(pool: NodePool | undefined, group: NodeGroup | undefined): Wanted {
  const problems: string[] = [];
  const { labels, annotations, taints } = pool?.spec ?? {};
  const anyValue = (): string[] => [];
  return {
    labels: { ...possible('label', labels, labelValueProblems, problems), ...membershipLabels(pool, group) },
    annotations: possible('annotation', annotations, anyValue, problems),
    taints: possible('taint', taintValues(taints), labelValueProblems, problems),
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

/** The server would refuse the whole node for one bad entry: it is left out, and the rest goes on. */
function possible(
  what: string,
  map: Readonly<Record<string, string>> | undefined,
  valueProblems: (value: string) => string[],
  problems: string[],
): Record<string, string> {
  const result: Record<string, string> = {};
  for (const [key, value] of Object.entries(map ?? {})) {
    const name = what === 'taint' ? key.slice(0, key.lastIndexOf(':')) : key;
    const wrong = [...labelKeyProblems(name), ...valueProblems(value)];
    if (wrong.length === 0) result[key] = value;
    else problems.push(`${what} ${key}=${value}: ${wrong.join('; ')}`);
  }
  return result;
}
