import { type ConfigMap, type Ingress, type IngressClass, keyOf } from '@tidegate/kube';
import { classNameOf } from '../../ingress/compile/index.ts';
import { configKeyVerdict } from '../../ingress/nginx-config/index.ts';
import type { NginxSettings } from '../model/nginx-answer.ts';
import { nginxServers } from '../model/nginx-servers.ts';
import { TidegateSide } from '../model/tidegate-side.ts';
import { type Moved, type SelectionOptions, selectIngresses } from '../select.ts';
import {
  type AnnotationVerdict,
  annotationVerdicts,
  byKey,
  otherProblems,
  type Verdict,
} from './annotations.ts';
import { type HostFinding, hostFindings } from './host-findings.ts';

export interface MigrationObjects {
  readonly ingresses: readonly Ingress[];
  readonly classes: readonly IngressClass[];
  /** The ConfigMaps of ingress-nginx. */
  readonly configMaps: readonly ConfigMap[];
}

export interface IngressReport {
  /** `namespace/name`. */
  readonly ingress: string;
  readonly ingressClass: string;
  readonly hosts: readonly string[];
  readonly paths: number;
  /** The worst of its annotations, its problems and the differences of its hosts. */
  readonly verdict: Verdict;
  readonly annotations: readonly AnnotationVerdict[];
  readonly problems: readonly { field: string; message: string }[];
}

export interface ConfigReport {
  /** `namespace/name` of the ConfigMap. */
  readonly configMap: string;
  readonly keys: readonly { name: string; value: string; verdict: Verdict; text: string }[];
}

export interface MigrationReport {
  readonly counts: {
    readonly ingresses: number;
    readonly honored: number;
    readonly changed: number;
    readonly refused: number;
    readonly hosts: number;
    readonly paths: number;
    readonly annotations: Readonly<Record<Verdict, number>>;
    readonly otherClasses: Readonly<Record<string, number>>;
  };
  /** How often each annotation is used. */
  readonly annotations: readonly { name: string; count: number; verdicts: Record<Verdict, number> }[];
  readonly ingresses: readonly IngressReport[];
  readonly hosts: readonly HostFinding[];
  readonly configMaps: readonly ConfigReport[];
  readonly withoutClass: readonly string[];
}

/** Compares what ingress-nginx does with these objects with what Tidegate would do. Pure. */
export function migrationReport(
  { ingresses, classes, configMaps }: MigrationObjects,
  options: SelectionOptions,
  now: number,
): MigrationReport {
  const { moved, withoutClass, others } = selectIngresses(ingresses, classes, options);
  const settings = settingsOf(configMaps);
  const parts = moved.map((each) => partOf(each, settings, now));
  const reports = parts.flatMap(({ reports }) => reports).sort((a, b) => (a.ingress < b.ingress ? -1 : 1));
  const hosts = parts.flatMap(({ findings }) => findings);
  const all = reports.flatMap(({ annotations }) => annotations);
  const count = (verdict: Verdict): number => reports.filter((each) => each.verdict === verdict).length;
  return {
    counts: {
      ingresses: reports.length,
      honored: count('honored'),
      changed: count('changed'),
      refused: count('refused'),
      hosts: new Set(reports.flatMap((each) => each.hosts)).size,
      paths: reports.reduce((sum, { paths }) => sum + paths, 0),
      annotations: tally(all),
      otherClasses: Object.fromEntries(others),
    },
    annotations: usesOf(all),
    ingresses: reports,
    hosts: hosts.filter(({ rules }) => rules.length > 0),
    configMaps: configMaps.map(configReport),
    withoutClass,
  };
}

/** The keys that change what ingress-nginx answers. */
export const settingsOf = (configMaps: readonly ConfigMap[]): NginxSettings => ({
  sslRedirect: !configMaps.some(({ data }) => data?.['ssl-redirect']?.trim() === 'false'),
});

function partOf(moved: Moved, settings: NginxSettings, now: number) {
  const tidegate = new TidegateSide(moved, now);
  const findings = hostFindings(moved.ingresses, nginxServers(moved.ingresses), settings, tidegate);
  const touched = new Set(
    findings.flatMap(({ rules }) =>
      // Every Ingress has other spellings of its paths.
      rules
        .filter(({ rule, differences }) => differences > 0 && rule !== 'normalization')
        .flatMap((rule) => rule.ingresses),
    ),
  );
  const reports = [...moved.ingresses].sort(byKey).map((ingress): IngressReport => {
    const key = keyOf(ingress);
    const outcome = tidegate.outcomes.get(key);
    const annotations = annotationVerdicts(ingress, outcome);
    const problems = otherProblems(outcome);
    const { rules = [] } = ingress.spec ?? {};
    return {
      ingress: key,
      ingressClass: classNameOf(ingress) ?? '',
      hosts: [...new Set(rules.map(({ host = '' }) => host.toLowerCase()))].sort(),
      paths: rules.reduce((sum, { http }) => sum + (http?.paths.length ?? 0), 0),
      verdict: worst([
        ...annotations.map(({ verdict }) => verdict),
        ...problems.map((): Verdict => 'refused'),
        ...(touched.has(key) ? ['changed' as const] : []),
      ]),
      annotations,
      problems,
    };
  });
  return { reports, findings };
}

const worst = (verdicts: readonly Verdict[]): Verdict =>
  (['refused', 'changed'] as const).find((each) => verdicts.includes(each)) ?? 'honored';

const tally = (all: readonly { verdict: Verdict }[]): Record<Verdict, number> => {
  const count = (verdict: Verdict): number => all.filter((each) => each.verdict === verdict).length;
  return { honored: count('honored'), changed: count('changed'), refused: count('refused') };
};

/** The most used first. */
function usesOf(all: readonly AnnotationVerdict[]): MigrationReport['annotations'] {
  const byName = new Map<string, AnnotationVerdict[]>();
  for (const each of all) byName.set(each.name, [...(byName.get(each.name) ?? []), each]);
  return [...byName]
    .map(([name, uses]) => ({ name, count: uses.length, verdicts: tally(uses) }))
    .sort((a, b) => b.count - a.count || (a.name < b.name ? -1 : 1));
}

const configReport = (configMap: ConfigMap): ConfigReport => ({
  configMap: keyOf(configMap),
  keys: Object.entries(configMap.data ?? {})
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => ({
      name,
      value: value.slice(0, 200),
      ...configKeyVerdict(name, configMap.data ?? {}),
    })),
});
