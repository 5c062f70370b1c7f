/** Everything that `tidegate install` and `tidegate upgrade` find out before they act. */
import type { KubeClient, KubeObject } from '@tidegate/kube';
import { FRONT_DOOR_NAMESPACE, ROUTER_NAMESPACE } from '../api/index.ts';
import { adaptToServer, servesPolicies } from './adapt.ts';
import { authorityOf, withAuthority } from './authority.ts';
import { type Chart, objectsOf } from './chart.ts';
import { type Inventory, readInventory } from './inventory.ts';
import { occupiedNamespaces } from './occupied.ts';
import { BASE_SETTINGS } from './overlays.ts';
import { type Plan, planChanges } from './plan.ts';
import { refusals } from './refusals.ts';
import { changedValues, defaultValues, type Values, withSettings, withStored } from './set-values.ts';
import { valueDefinitions } from './values.ts';

/** The namespaces of routers. They may have been created by other projects, for example OpenYurt. */
export const ROUTER_NAMESPACES: readonly string[] = [ROUTER_NAMESPACE, FRONT_DOOR_NAMESPACE];

export interface InstallRequest {
  chart: Chart;
  namespace: string;
  settings: readonly string[];
  /** Start from the defaults instead of the values of the current installation. */
  resetValues: boolean;
  forceConflicts: boolean;
  upgrade: boolean;
  signal?: AbortSignal;
}

export interface Prepared {
  plan: Plan;
  inventory: Inventory | undefined;
  /** What to store: the values that differ from the defaults. */
  values: Values;
  /** What the user should know before the change. */
  warnings: readonly string[];
  /** Why nothing is changed. Empty if the installation can start. */
  refusals: readonly string[];
}

export async function prepareInstall(client: KubeClient, request: InstallRequest): Promise<Prepared> {
  const { chart, namespace, settings, resetValues, signal } = request;
  const inventory = await readInventory(client, namespace);
  const definitions = valueDefinitions(chart.version);
  const base = withStored(definitions, resetValues ? {} : (inventory?.values ?? {}));
  const values = withSettings(definitions, base, [...BASE_SETTINGS, ...settings]);
  const hasPolicies = await servesPolicies(client);
  const authority = hasPolicies ? undefined : await authorityOf(client, namespace, signal);
  const objects = (await adaptToServer(client, objectsOf(chart, { values, namespace }, { hasPolicies }))).map(
    (object) => (authority === undefined ? object : withAuthority(object, authority)),
  );
  const plan = await planChanges(client, objects, inventory, {
    force: request.forceConflicts,
    writesAuthority: !hasPolicies,
    signal,
  });
  const against = await refusals({
    client,
    namespace,
    version: chart.version,
    inventory,
    values,
    steps: plan.steps,
    upgrade: request.upgrade,
  });
  const occupied = await occupiedNamespaces(client, ROUTER_NAMESPACES, signal);
  return {
    plan,
    inventory,
    values: changedValues(definitions, values),
    warnings: occupied.map(({ text, todo }) => `${text}: ${todo}`),
    refusals: [...against, ...plan.problems],
  };
}

/** The objects of an installation that was made without this program, for example with kubectl and the kustomize base. */
export function defaultObjects(chart: Chart, namespace: string): KubeObject[] {
  const definitions = valueDefinitions(chart.version);
  const settings = [...BASE_SETTINGS, 'allNamespaces=true', 'ingressNginx.image=any'];
  return objectsOf(chart, {
    values: withSettings(definitions, defaultValues(definitions), settings),
    namespace,
  });
}
