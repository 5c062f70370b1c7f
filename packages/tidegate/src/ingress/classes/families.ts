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
  return { families, problems };
}

const ignoredParameters = (name: string, { name: address, classNames }: Family): ClassProblem => ({
  reason: 'ParametersIgnored',
  message: `The parameters of IngressClass ${name} are ignored, because IngressClass ${classNames[0]} has sharedAddress ${address} for longer. Write the same parameters, or choose another sharedAddress.`,
});

/** The family that the class would be in without any other class. */
function ownFamily(
  { name, driver, programming, settings }: ResolvedClass,
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
    settings,
  };
}

const byAge = (a: ResolvedClass, b: ResolvedClass): number =>
  a.created - b.created || (a.name < b.name ? -1 : Number(a.name !== b.name));
