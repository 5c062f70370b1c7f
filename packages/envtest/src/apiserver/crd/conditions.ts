/** The status of a CustomResourceDefinition: its accepted names and whether it is served. */
import { type Condition, jsonEqual } from '@tidegate/kube';
import type { CrdStatus, CustomResourceDefinition, Names } from './types.ts';

/** Names that are in use by other definitions of the same group. */
export interface TakenNames {
  resources: ReadonlySet<string>;
  kinds: ReadonlySet<string>;
}

/** What one definition of a group has been given. */
export interface AcceptedNames {
  group: string | undefined;
  names: Names;
}

/**
 * Collects the accepted names of the other definitions. Names that were requested but not accepted do not block
 * others.
 */
export function takenNames(group: string | undefined, others: Iterable<AcceptedNames>): TakenNames {
  const resources = new Set<string>();
  const kinds = new Set<string>();
  for (const other of others) {
    if (other.group !== group) continue;
    const { plural = '', singular = '', shortNames = [], kind = '', listKind = '' } = other.names;
    for (const name of [plural, singular, ...shortNames]) if (name !== '') resources.add(name);
    for (const name of [kind, listKind]) if (name !== '') kinds.add(name);
  }
  return { resources, kinds };
}

/** The new status; the old object if nothing changes. An established definition stays established. */
export function establish(crd: CustomResourceDefinition, taken: TakenNames, now: Date): CrdStatus {
  const old: CrdStatus = crd.status ?? { conditions: null, acceptedNames: {}, storedVersions: [] };
  const requested = crd.spec.names ?? {};
  const { accepted, conflict } = acceptNames(requested, old.acceptedNames, taken);
  const conditions = old.conditions ?? [];
  const wasEstablished = conditions.some((c) => c.type === 'Established' && c.status === 'True');
  const wanted: Omit<Condition, 'lastTransitionTime'>[] = [
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict },
  ];
  if (conflict === undefined || wasEstablished) {
    wanted.push({
      type: 'Established',
      status: 'True',
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
    });
  } else {
    wanted.push({
      type: 'Established',
      status: 'False',
      reason: 'NotAccepted',
      message: 'not all names are accepted',
    });
  }
  const status: CrdStatus = {
    conditions: wanted.reduce((list, condition) => setCondition(list, condition, now), conditions),
    acceptedNames: accepted,
    storedVersions: old.storedVersions,
  };
  return jsonEqual(status, old) ? old : status;
}

/** If there are several conflicts, the last one is reported, as in kube-apiserver. */
function acceptNames(
  requested: Names,
  held: Names,
  taken: TakenNames,
): { accepted: Names; conflict: { reason: string; message: string } | undefined } {
  let conflict: { reason: string; message: string } | undefined;
  const accepted: Names = { ...held, ...(requested.categories && { categories: requested.categories }) };
  const inUse = (name: string, mine: string | undefined, used: ReadonlySet<string>): boolean =>
    name !== (mine ?? '') && used.has(name);
  const tryName = (
    field: 'plural' | 'singular' | 'kind' | 'listKind',
    used: ReadonlySet<string>,
    reason: string,
  ) => {
    const name = requested[field] ?? '';
    if (inUse(name, held[field], used)) conflict = { reason, message: `"${name}" is already in use` };
    else accepted[field] = name;
  };
  tryName('plural', taken.resources, 'PluralConflict');
  tryName('singular', taken.resources, 'SingularConflict');
  const clashes = (requested.shortNames ?? []).filter(
    (name) => !held.shortNames?.includes(name) && taken.resources.has(name),
  );
  if (clashes.length > 0) {
    const messages = clashes.map((name) => `"${name}" is already in use`);
    const message = messages.length === 1 ? (messages[0] ?? '') : `[${messages.join(', ')}]`;
    conflict = { reason: 'ShortNamesConflict', message };
  } else if (requested.shortNames !== undefined) accepted.shortNames = requested.shortNames;
  else delete accepted.shortNames;
  tryName('kind', taken.kinds, 'KindConflict');
  tryName('listKind', taken.kinds, 'ListKindConflict');
  if (requested.categories === undefined) delete accepted.categories;
  return { accepted, conflict };
}

function setCondition(
  conditions: Condition[],
  wanted: Omit<Condition, 'lastTransitionTime'>,
  now: Date,
): Condition[] {
  const old = conditions.find((c) => c.type === wanted.type);
  const lastTransitionTime =
    old?.status === wanted.status && old.lastTransitionTime !== undefined
      ? old.lastTransitionTime
      : `${now.toISOString().slice(0, 19)}Z`;
  const condition: Condition = { ...wanted, lastTransitionTime };
  return old === undefined ? [...conditions, condition] : conditions.map((c) => (c === old ? condition : c));
}

/** Whether the kind is served. Objects may exist from then on. */
export const isEstablished = (crd: CustomResourceDefinition): boolean =>
  crd.status?.conditions?.some((c) => c.type === 'Established' && c.status === 'True') ?? false;
