import { type FieldError, fieldError } from '@tidegate/serving';
import { define } from '../define.ts';
import { ageColumn, nameColumn } from '../table.ts';
import { each, nonNegative, required } from '../validation/checks.ts';
import { semanticallyEqual } from '../validation/equal.ts';
import { IMMUTABLE, isLabelKey } from '../validation/names.ts';
import { validateDriverName } from './class-rules.ts';
import type { CsiNode, CsiNodeDriver } from './types.ts';

const MAX_NODE_ID = 256;

export const csinodes = define<CsiNode>({
  group: 'storage.k8s.io',
  kind: 'CSINode',
  plural: 'csinodes',
  namespaced: false,
  parts: ['spec'],
  table: [
    nameColumn,
    {
      name: 'Drivers',
      type: 'integer',
      description: 'Drivers indicates the number of CSI drivers registered on the node',
      cell: ({ spec }) => spec.drivers?.length ?? 0,
    },
    ageColumn,
  ],
  defaults({ spec }) {
    if ((spec.drivers ?? []).length === 0) spec.drivers = null;
    for (const driver of spec.drivers ?? []) driver.topologyKeys ??= null;
  },
  validate({ spec }) {
    const names = new Set<string>();
    return each('spec.drivers', spec.drivers ?? [], (driver, path) => {
      const { name = '' } = driver;
      const isDuplicate = names.has(name);
      names.add(name);
      return validateDriver(driver, isDuplicate, path);
    });
  },
  validateUpdate: ({ spec }, old) =>
    (old.spec.drivers ?? []).flatMap(({ allocatable: _, ...before }) => {
      const after = spec.drivers?.find(({ name }) => name === before.name);
      if (after === undefined) return [];
      const { allocatable: __, ...fixed } = after;
      return semanticallyEqual(fixed, before)
        ? []
        : [fieldError.invalid('spec.drivers', internal(fixed), IMMUTABLE)];
    }),
});

const internal = ({ name, nodeID, topologyKeys }: CsiNodeDriver): object => ({
  Name: name ?? '',
  NodeID: nodeID ?? '',
  TopologyKeys: topologyKeys ?? null,
  Allocatable: null,
});

function validateDriver(driver: CsiNodeDriver, isDuplicate: boolean, path: string): FieldError[] {
  const { name = '', nodeID = '', topologyKeys, allocatable } = driver;
  const keys = new Set<string>();
  return [
    ...validateDriverName(name, `${path}.name`),
    ...required(`${path}.nodeID`, nodeID),
    ...(nodeID.length > MAX_NODE_ID
      ? [fieldError.invalid(`${path}.nodeID`, nodeID, `must be ${MAX_NODE_ID} characters or less`)]
      : []),
    ...nonNegative(`${path}.allocatable.count`, allocatable?.count),
    ...(isDuplicate ? [fieldError.duplicate(`${path}.name`, name)] : []),
    ...(topologyKeys ?? []).flatMap((key) => {
      const again = keys.has(key);
      keys.add(key);
      return [
        ...required(path, key),
        ...(again ? [fieldError.duplicate(path, key)] : []),
        ...isLabelKey(key).map((message) => fieldError.invalid(path, key, message)),
      ];
    }),
  ];
}
