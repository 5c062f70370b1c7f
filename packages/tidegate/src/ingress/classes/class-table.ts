import { isDeepStrictEqual } from 'node:util';
import {
  CONFIG_MAPS,
  type ConfigMap,
  INGRESS_CLASSES,
  type Informer,
  type IngressClass,
  type KubeObject,
} from '@tidegate/kube';
import {
  INGRESS_CLASS_PARAMETERS,
  INGRESS_CONTROLLER_PREFIX,
  L7_ROUTERS,
  type L7Router,
  SHARED_ADDRESS_LABEL,
  SYSTEM_NAMESPACE,
} from '../../api/index.ts';
import { isAccessRefused } from '../access-refused.ts';
import type { IngressContext } from '../context.ts';
import type { ProvisionerRegistry } from '../provisioners/index.ts';
import { type Family, familiesOf } from './families.ts';
import {
  type ClassProblem,
  type ParametersReference,
  type ResolvedClass,
  referenceOf,
  resolveClass,
} from './resolve.ts';

type Context = Pick<IngressContext, 'client' | 'informers'> & {
  recorder: Pick<IngressContext['recorder'], 'warning'>;
  provisioners: ProvisionerRegistry;
};

/** The IngressClasses of Tidegate with their parameters, grouped into families. Kept current by informers. */
export class ClassTable {
  readonly #context: Context;
  readonly #classes;
  readonly #parameters;
  readonly #routers;
  readonly #listeners: ((family: string) => void)[] = [];
  readonly #synced: Promise<unknown>;
  /**
   * By `namespace/name`. Each ConfigMap has its own watch, so that the manager does not read unrelated ConfigMaps.
   */
  readonly #configMaps = new Map<string, Informer<ConfigMap>>();
  /** Keys of ConfigMaps that the manager may not read. */
  readonly #refused = new Set<string>();
  /** One for each ConfigMap, resolved when it is known whether it exists, or that it cannot be read. */
  readonly #answers: Promise<unknown>[] = [];
  #families: ReadonlyMap<string, Family> = new Map();
  #familyOfClass: ReadonlyMap<string, Family> = new Map();
  /** Problems of each class as JSON, so that an event is written only when they change. */
  readonly #reported = new Map<string, string>();

  constructor(context: Context) {
    this.#context = context;
    const { informers } = context;
    this.#classes = informers.for(INGRESS_CLASSES);
    this.#parameters = informers.for(INGRESS_CLASS_PARAMETERS);
    this.#routers = informers.for(L7_ROUTERS);
    this.#synced = Promise.all([this.#classes, this.#parameters, this.#routers].map(({ synced }) => synced));
  }

  /** Resolves when all classes and their parameters are known. Listeners of `onChange` are called before. */
  async follow(): Promise<void> {
    const { provisioners } = this.#context;
    await Promise.all([this.#synced, provisioners.synced]);
    const refresh = (): void => this.#refresh();
    this.#classes.addHandler({ onAdd: refresh, onUpdate: refresh, onDelete: refresh });
    this.#parameters.addHandler({ onAdd: refresh, onUpdate: refresh, onDelete: refresh });
    provisioners.onChange(refresh);
    await Promise.all(this.#answers);
    this.#refresh();
  }

  get families(): ReadonlyMap<string, Family> {
    return this.#families;
  }

  familyOf(className: string): Family | undefined {
    return this.#familyOfClass.get(className);
  }

  /** The listener is called with the key of every family that is new, has changed or was removed. */
  onChange(listener: (family: string) => void): void {
    this.#listeners.push(listener);
  }

  /** Resolves all classes again. There are few classes and they rarely change. */
  #refresh(): void {
    const resolved: ResolvedClass[] = [];
    for (const object of this.#classes.cache.list()) {
      const reference = referenceOf(object);
      const isKnown = reference === undefined || 'reason' in reference || this.#isKnown(reference);
      const each = resolveClass(
        object,
        isKnown ? { get: (wanted) => this.#get(wanted) } : undefined,
        this.#context.provisioners,
      );
      if (each === undefined) continue;
      resolved.push(isKnown ? each : { ...each, problems: this.#refusalOf(reference) });
    }
    const before = this.#families;
    const { families, problems } = familiesOf(resolved, (name) => this.#sharedBefore(name));
    this.#families = families;
    this.#familyOfClass = new Map(
      [...families.values()].flatMap((family) => family.classNames.map((name) => [name, family] as const)),
    );
    for (const object of this.#classes.cache.list()) {
      const name = `${object.metadata.name}`;
      this.#report(name, problems.get(name) ?? unknownController(object));
    }
    for (const key of new Set([...before.keys(), ...families.keys()])) {
      if (isDeepStrictEqual(before.get(key), families.get(key))) continue;
      for (const listener of this.#listeners) listener(key);
    }
  }

  /** The address that the class shares according to existing routers. Used while its parameters are not readable. */
  #sharedBefore(className: string): string | undefined {
    const router = this.#routers.cache
      .list()
      .find(
        (each) =>
          each.metadata.labels?.[SHARED_ADDRESS_LABEL] !== undefined && classesOf(each).includes(className),
      );
    return router?.metadata.labels?.[SHARED_ADDRESS_LABEL];
  }

  /** Until its watch has synced, a ConfigMap is neither found nor missing. */
  #isKnown(reference: ParametersReference): boolean {
    return reference.kind !== 'ConfigMap' || this.#configMap(reference).hasSynced;
  }

  /** A problem if the manager may not read the ConfigMap. None while that is not known yet. */
  #refusalOf({ namespace, name }: ParametersReference): ClassProblem[] {
    if (!this.#refused.has(`${namespace}/${name}`)) return [];
    const message = `spec.parameters: the manager may not read ConfigMap ${namespace}/${name}, nothing is provisioned. Run: kubectl create rolebinding tidegate-parameters --namespace ${namespace} --clusterrole tidegate-parameters --serviceaccount ${SYSTEM_NAMESPACE}:tidegate-routers`;
    return [{ reason: 'ParametersNotFound', message }];
  }

  #get(reference: ParametersReference) {
    const key = `${reference.namespace}/${reference.name}`;
    const { cache } = reference.kind === 'ConfigMap' ? this.#configMap(reference) : this.#parameters;
    return cache.get(key);
  }

  #configMap({ namespace, name }: ParametersReference): Informer<ConfigMap> {
    const key = `${namespace}/${name}`;
    let informer = this.#configMaps.get(key);
    if (informer === undefined) {
      const { informers } = this.#context;
      const select = { namespace, fieldSelector: `metadata.name=${name}` };
      informer = informers.for(CONFIG_MAPS, select);
      this.#configMaps.set(key, informer);
      const refresh = (): void => this.#refresh();
      informer.addHandler({ onAdd: refresh, onUpdate: refresh, onDelete: refresh });
      const { synced } = informer;
      void synced.then(refresh);
      const answered = isAccessRefused(this.#context, CONFIG_MAPS, select).then((isRefused) => {
        if (!isRefused) return synced;
        this.#refused.add(key);
        refresh();
      });
      this.#answers.push(answered);
    }
    return informer;
  }

  #report(name: string, problems: readonly { reason: string; message: string }[]): void {
    const text = JSON.stringify(problems);
    if ((this.#reported.get(name) ?? '[]') === text) return;
    this.#reported.set(name, text);
    const subject = this.#classes.cache.get(name) as KubeObject;
    for (const { reason, message } of problems) this.#context.recorder.warning(subject, reason, message);
  }
}

/** A class that Tidegate should serve, but cannot. Classes of other controllers do not concern it. */
const unknownController = ({ metadata, spec }: IngressClass): ClassProblem[] =>
  spec?.controller?.startsWith(INGRESS_CONTROLLER_PREFIX) === true
    ? [
        {
          reason: 'UnknownController',
          message: `spec.controller: ${spec.controller} is not a provisioner of this manager, nothing is provisioned for IngressClass ${metadata.name}. Use tidegate.io/nginx or tidegate.io/embedded, or enable the provisioner with a flag of tidegate manager.`,
        },
      ]
    : [];

/** All classes that a router serves. */
export const classesOf = ({ spec }: L7Router): string[] => [
  spec.ingressClassName,
  ...(spec.sharedWith ?? []),
];
