import { isDeepStrictEqual } from 'node:util';
import type { Programming } from '../provisioners/index.ts';
import type { ClassProblem, ResolvedClass } from './resolve.ts';
import type { ClassSettings } from './settings.ts';

/**
 * Classes that are served by the same routers: a single class, or all classes with the same `sharedAddress`. Hosts are
 * placed and host conflicts are decided per family.
 */
export interface Family {
  /** `class/NAME`, or `shared/ADDRESS`. */
  readonly key: string;
  /** Prefix of the names of its routers: the class, or the shared address. */
  readonly name: string;
  readonly shared: boolean;
  /** The oldest class first. Its parameters apply to the whole family. */
  readonly classNames: readonly string[];
  readonly driver: string;
  readonly programming: Programming;
  /** Only of a provisioner that is not part of Tidegate. */
  readonly abilities?: ResolvedClass['abilities'];
  /** Undefined while the parameters of one of its classes are missing or invalid: then its routers stay unchanged. */
  readonly settings: ClassSettings | undefined;
}

/** Result of familiesOf. */
export interface Grouped {
  readonly families: ReadonlyMap<string, Family>;
  /** By name of the class. */
  readonly problems: ReadonlyMap<string, readonly ClassProblem[]>;
}

export const classFamilyKey = (className: string): string => `class/${className}`;
export const sharedFamilyKey = (address: string): string => `shared/${address}`;

/**
 * Groups classes into families. Each class is in exactly one family. A class whose parameters are missing or invalid
 * stays in its family: `sharedBefore` returns the address that it shares according to existing routers.
 */
export function familiesOf(
  classes: Iterable<ResolvedClass>,
  sharedBefore: (className: string) => string | undefined,
): Grouped {
  const families = new Map<string, Family>();
  const problems = new Map<string, readonly ClassProblem[]>();
  for (const each of [...classes].sort(byAge)) {
    const own = ownFamily(each, sharedBefore);
    const family = families.get(own.key);
    problems.set(each.name, each.problems);
    if (family === undefined) families.set(own.key, own);
    else if (family.driver === each.driver) {
      const settings = each.settings && family.settings;
      families.set(own.key, { ...family, settings, classNames: [...family.classNames, each.name] });
      if (settings !== undefined && !isDeepStrictEqual(settings, each.settings))
        problems.set(each.name, [...each.problems, ignoredParameters(each.name, family)]);
    } else {
      const message = `sharedAddress ${own.name} is used by IngressClass ${family.classNames[0]} with the data plane ${family.driver}, not ${each.driver}. Nothing is provisioned for this class: choose another sharedAddress.`;
      problems.set(each.name, [...each.problems, { reason: 'AddressConflict', message }]);
      const key = classFamilyKey(each.name);
      families.set(key, { ...own, key, name: each.name, shared: false, settings: undefined });
    }
  }
  sharePods(families, problems);
  return { families, problems };
}

/** Settings of the pods, not of a single router in them. */
const podSettings = ({ workload, pool }: ClassSettings) => {
  const { replicas, image, namespace, accessLog, sharedPods } = workload;
  return { replicas, image, namespace, accessLog, sharedPods, pool };
};

/**
 * Families with the same `sharedPods` have the pods of the oldest one of them: it is the first, because families are in the
 * order of their oldest classes.
 */
function sharePods(families: Map<string, Family>, problems: Map<string, readonly ClassProblem[]>): void {
  const oldest = new Map<string, Family>();
  const report = (family: Family, problem: ClassProblem): void => {
    const [name = ''] = family.classNames;
    problems.set(name, [...(problems.get(name) ?? []), problem]);
  };
  for (const [key, family] of families) {
    const pods = family.settings?.workload.sharedPods;
    if (family.settings === undefined || pods === undefined) continue;
    const first = oldest.get(pods);
    if (first?.settings === undefined) oldest.set(pods, family);
    else if (first.driver !== family.driver) {
      const message = `sharedPods ${pods} is used by IngressClass ${first.classNames[0]} with the data plane ${first.driver}, not ${family.driver}. Nothing is provisioned for this class: choose another name.`;
      report(family, { reason: 'PodsConflict', message });
      families.set(key, { ...family, settings: undefined });
    } else if (!isDeepStrictEqual(podSettings(first.settings), podSettings(family.settings))) {
      const message = `The parameters replicas, image, namespace, accessLog and pool of IngressClass ${family.classNames[0]} are ignored, because IngressClass ${first.classNames[0]} has sharedPods ${pods} for longer. Write the same values, or choose another name.`;
      report(family, { reason: 'ParametersIgnored', message });
      families.set(key, { ...family, settings: withPodsOf(family.settings, first.settings) });
    }
  }
}

function withPodsOf(settings: ClassSettings, { workload, pool }: ClassSettings): ClassSettings {
  const { serviceType, externalTrafficPolicy, httpPort, httpsPort } = settings.workload;
  const { pool: _, ...rest } = settings;
  const ofService = { serviceType, externalTrafficPolicy, httpPort, httpsPort };
  const own = Object.entries(ofService);
  const pods = Object.entries(workload).filter(([field]) => !Object.hasOwn(ofService, field));
  const defined = [...pods, ...own].filter(([, value]) => value !== undefined);
  return { ...rest, ...(pool !== undefined && { pool }), workload: Object.fromEntries(defined) };
}

const ignoredParameters = (name: string, { name: address, classNames }: Family): ClassProblem => ({
  reason: 'ParametersIgnored',
  message: `The parameters of IngressClass ${name} are ignored, because IngressClass ${classNames[0]} has sharedAddress ${address} for longer. Write the same parameters, or choose another sharedAddress.`,
});

/** The family that the class would be in without any other class. */
function ownFamily(
  { name, driver, programming, abilities, settings }: ResolvedClass,
  sharedBefore: (className: string) => string | undefined,
): Family {
  const address = settings === undefined ? sharedBefore(name) : settings.sharedAddress;
  return {
    key: address === undefined ? classFamilyKey(name) : sharedFamilyKey(address),
    name: address ?? name,
    shared: address !== undefined,
    classNames: [name],
    driver,
    programming,
    ...(abilities && { abilities }),
    settings,
  };
}

const byAge = (a: ResolvedClass, b: ResolvedClass): number =>
  a.created - b.created || (a.name < b.name ? -1 : Number(a.name !== b.name));
