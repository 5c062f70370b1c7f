/** The components of a cluster, as users name them in `tidegate kill` and `tidegate logs`. */
import { SupervisorError } from './error.ts';
import { hubOf } from './layout.ts';

/** Those that a cluster has once, and those that have names. */
export const SINGLE_COMPONENTS = ['apiserver', 'controllers', 'manager'] as const;
export const NAMED_COMPONENTS = ['hub', 'node', 'router'] as const;

export type Component = (typeof SINGLE_COMPONENTS)[number] | (typeof NAMED_COMPONENTS)[number];

export const isComponent = (text: string): text is Component =>
  [...SINGLE_COMPONENTS, ...NAMED_COMPONENTS].some((name) => name === text);

export const isNamed = (component: Component): boolean => NAMED_COMPONENTS.some((name) => name === component);

/** Rejects a name that is missing or not wanted. */
export function checkNames(component: Component, names: readonly string[]): void {
  if (isNamed(component) && names.length === 0) {
    const what = component === 'router' ? 'the name of its L7Router' : 'the name of a node or pool';
    throw new SupervisorError(`specify which ${component}: ${what}`);
  }
  if (!isNamed(component) && names.length > 0) {
    throw new SupervisorError(`${component} takes no name, because a cluster has only one`);
  }
}

/** The names of the supervised processes of a component, on these nodes. Routers run in pods and are not among them. */
export function processesOf(component: Exclude<Component, 'router'>, nodes: readonly string[]): string[] {
  switch (component) {
    case 'hub':
      return nodes.map(hubOf);
    case 'node':
      return [...nodes];
    default:
      return [component];
  }
}
