import { isDeepStrictEqual } from 'node:util';
import type { Informer } from '@tidegate/kube';
import type { DeclaredParameter, RouterProvisioner } from '../../api/index.ts';
import { BUILT_IN } from './built-in.ts';
import { CAPABILITIES, type Capability } from './capabilities.ts';
import type { Provisioner, ProvisionerProfile } from './contract.ts';
import type { ParameterRule } from './parameters.ts';

/** A RouterProvisioner that is not used. Becomes an event of the object. */
export interface DeclarationProblem {
  readonly name: string;
  readonly message: string;
}

/** The RouterProvisioners of the cluster. */
interface Declared extends Pick<Informer<RouterProvisioner>, 'synced' | 'addHandler'> {
  readonly cache: Pick<Informer<RouterProvisioner>['cache'], 'list'>;
}

/**
 * All provisioners: those of Tidegate, and those that administrators have declared. A controller name belongs to the
 * provisioner that had it first: those of Tidegate come before all others, then the older object, then the name decides.
 */
export class ProvisionerRegistry {
  readonly #own: readonly ProvisionerProfile[];
  readonly #declared: Declared | undefined;
  readonly #listeners: (() => void)[] = [];
  #byController: ReadonlyMap<string, ProvisionerProfile> = new Map();
  #byDriver: ReadonlyMap<string, ProvisionerProfile> = new Map();
  #problems: readonly DeclarationProblem[] = [];

  /** `implemented`: provisioners of this manager besides the built-in ones, for example for a cloud. */
  constructor(implemented: readonly ProvisionerProfile[] = [], declared: Declared | undefined = undefined) {
    this.#own = [
      ...BUILT_IN.filter(({ driver }) => !implemented.some((each) => each.driver === driver)),
      ...implemented,
    ];
    this.#declared = declared;
    this.#refresh();
    const refresh = (): void => this.#refresh();
    declared?.addHandler({ onAdd: refresh, onUpdate: refresh, onDelete: refresh });
  }

  get synced(): Promise<void> {
    return this.#declared?.synced ?? Promise.resolve();
  }

  /** `controller` is `spec.controller` of an IngressClass: a canonical name or an alias. */
  forController(controller: string): ProvisionerProfile | undefined {
    return this.#byController.get(controller);
  }

  /** `driver` is `spec.driver` of an L7Router. */
  forDriver(driver: string): ProvisionerProfile | undefined {
    return this.#byDriver.get(driver);
  }

  /** The provisioners whose program runs in this manager. */
  get implemented(): readonly Provisioner[] {
    return this.#own.filter(isImplemented);
  }

  get problems(): readonly DeclarationProblem[] {
    return this.#problems;
  }

  /** The listener is called when a declaration has been added, changed or removed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  #refresh(): void {
    const byController = new Map<string, ProvisionerProfile>();
    const byDriver = new Map<string, ProvisionerProfile>();
    const problems: DeclarationProblem[] = [];
    for (const profile of this.#own) {
      for (const name of [profile.controller, ...profile.aliases]) byController.set(name, profile);
      byDriver.set(profile.driver, profile);
    }
    const declared = [...(this.#declared?.cache.list() ?? [])].sort((a, b) => (ageOf(a) < ageOf(b) ? -1 : 1));
    for (const object of declared) {
      const profile = profileOf(object);
      const taken = [profile.controller, ...profile.aliases].find((name) => byController.has(name));
      if (taken !== undefined) {
        const owner = byController.get(taken)!.controller;
        const message = `The controller name ${taken} belongs to the provisioner ${owner}. This RouterProvisioner is ignored: choose another name.`;
        problems.push({ name: `${object.metadata.name}`, message });
        continue;
      }
      for (const name of [profile.controller, ...profile.aliases]) byController.set(name, profile);
      byDriver.set(profile.driver, profile);
    }
    this.#problems = problems;
    const isSame = isDeepStrictEqual([...byController], [...this.#byController]);
    this.#byController = byController;
    this.#byDriver = byDriver;
    if (!isSame) for (const listener of this.#listeners) listener();
  }
}

const ageOf = ({ metadata }: RouterProvisioner): string => `${metadata.creationTimestamp} ${metadata.name}`;

/** Whether the profile comes with its program. */
export const isImplemented = (profile: ProvisionerProfile): profile is Provisioner => 'ensure' in profile;

/** The profile that a RouterProvisioner declares. Capabilities that this version does not know are never needed. */
function profileOf({ spec }: RouterProvisioner): ProvisionerProfile {
  const { controller, aliases = [], limits = {}, capabilities = [], parameters = [] } = spec;
  const unknown = UNKNOWN[spec.unknownParameters ?? 'Report'];
  return {
    controller,
    aliases,
    driver: controller,
    limits,
    capabilities: new Set(
      capabilities.filter((name): name is Capability => Object.hasOwn(CAPABILITIES, name)),
    ),
    parameters: { keys: Object.fromEntries(parameters.map((each) => [each.name, ruleOf(each)])), unknown },
    programming: 'external',
  };
}

const UNKNOWN = { Accept: 'accept', Report: 'report', Reject: 'reject' } as const;

const ruleOf = ({ name: _, description = '', ...rule }: DeclaredParameter): ParameterRule => ({
  description,
  ...rule,
});
