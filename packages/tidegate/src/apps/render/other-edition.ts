import { isJsonMap, type KubeObject } from '@tidegate/kube';
import { EDGE_APPLICATION_LABEL, EDITION_LABEL } from '../../api/index.ts';
import { mapAt, type Path, read, write } from '../json.ts';
import { nameIn } from './names.ts';
import { withoutChoice } from './per-edition.ts';
import { longestName } from './references.ts';
import { kindOf } from './scopes.ts';

/** Where kinds select pods. An edition selects the pods of the edition only. */
const POD_SELECTORS: Readonly<Record<string, Path>> = {
  '/Service': ['spec', 'selector'],
  'policy/PodDisruptionBudget': ['spec', 'selector', 'matchLabels'],
  'networking.k8s.io/NetworkPolicy': ['spec', 'podSelector', 'matchLabels'],
  'monitoring.coreos.com/PodMonitor': ['spec', 'selector', 'matchLabels'],
};
/** Where kinds select Services. They select those of the edition if Services have editions. */
const SERVICE_SELECTORS: Readonly<Record<string, Path>> = {
  'monitoring.coreos.com/ServiceMonitor': ['spec', 'selector', 'matchLabels'],
};

/** Builds the edition of an object that runs no pods: its own name, labels, and a selector for the pods of the edition. */
export function otherEditionOf(
  object: KubeObject,
  edition: string,
  application: string,
  { hasServices }: { hasServices: boolean },
): KubeObject {
  const labels = { [EDGE_APPLICATION_LABEL]: application, [EDITION_LABEL]: edition };
  const name = nameIn({ edition }, object.metadata.name ?? '', longestName(object));
  const { metadata } = withoutChoice(object);
  const named = { ...object, metadata: { ...metadata, name, labels: { ...metadata.labels, ...labels } } };
  const { group, kind } = kindOf(object);
  const key = `${group}/${kind}`;
  const path = POD_SELECTORS[key] ?? (hasServices ? SERVICE_SELECTORS[key] : undefined);
  return path === undefined || !selects(named, path)
    ? named
    : write(named, path, { ...mapAt(named, path), ...labels });
}

/** The endpoints of a Service without a selector are written by its user. */
const selects = (object: KubeObject, path: Path): boolean =>
  object.kind !== 'Service' || isJsonMap(read(object, path));
