import type { ClassProblem, ResolvedClass } from './resolve.ts';
import type { ClassSettings } from './settings.ts';

/** The classes that are served together: one alone, or all that share an address. */
export interface Family {
  /** `class/NAME`, or `shared/ADDRESS`. */
  readonly key: string;
  /** What its routers are named after. */
  readonly name: string;
  readonly shared: boolean;
  /** The oldest first. What that one asks for holds for all. */
  readonly classNames: readonly string[];
  readonly driver: string;
  /** Undefined as long as one of its classes can not be understood: then all stays as it is. */
  readonly settings: ClassSettings | undefined;
}

export interface Grouped {
  readonly families: ReadonlyMap<string, Family>;
  /** By the name of the class. */
  readonly problems: ReadonlyMap<string, readonly ClassProblem[]>;
}

export const classFamilyKey = (className: string): string => `class/${className}`;
export const sharedFamilyKey = (address: string): string => `shared/${address}`;

/**
 * Every class is in exactly one family. One that can not be understood now stays where it is: `sharedBefore` tells
 * which address it shares, by the routers that there are.
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
    } else {
      const message = `The address ${own.name} is class ${family.classNames[0]}'s, which is served by ${family.driver}, not ${each.driver}: choose another sharedAddress. Nothing is provisioned until then.`;
      problems.set(each.name, [...each.problems, { reason: 'AddressConflict', message }]);
      const key = classFamilyKey(each.name);
      families.set(key, { ...own, key, name: each.name, shared: false, settings: undefined });
    }
  }
  return { families, problems };
}

function ownFamily(
  { name, driver, settings }: ResolvedClass,
  sharedBefore: (className: string) => string | undefined,
): Family {
  const address = settings === undefined ? sharedBefore(name) : settings.sharedAddress;
  return {
    key: address === undefined ? classFamilyKey(name) : sharedFamilyKey(address),
    name: address ?? name,
    shared: address !== undefined,
    classNames: [name],
    driver,
    settings,
  };
}

const byAge = (a: ResolvedClass, b: ResolvedClass): number =>
  a.created - b.created || (a.name < b.name ? -1 : Number(a.name !== b.name));
