import { keyText } from './policy-key.ts';
import {
  NOT_FOUND_BACKEND,
  type Observed,
  type ObservedBackend,
  type ObservedListener,
  type ObservedPolicy,
} from './state.ts';
import type { Step } from './step.ts';

/** What exists after a step. `id` is the ID of the object that the step created. */
export function applyStep(state: Observed, step: Step, id: string): Observed {
  switch (step.kind) {
    case 'storeCertificate':
      return { ...state, certificates: [...state.certificates, step.certificate] };
    case 'deleteCertificate':
      return { ...state, certificates: state.certificates.filter((name) => name !== step.certificate) };
    case 'createBackend':
      return { ...state, backends: [...state.backends, { ...step.backend, members: [], pool: id }] };
    case 'updateBackend': {
      const { name, algorithm, tls } = step;
      return withBackend(state, step.backend, (backend) => ({ ...backend, name, algorithm, tls }));
    }
    case 'setMembers':
      return withBackend(state, step.backend, (backend) => ({ ...backend, members: step.members }));
    case 'createMonitor':
      return withBackend(state, step.backend, (backend) => ({
        ...backend,
        monitor: { ...step.monitor, monitorId: id },
      }));
    case 'deleteMonitor':
      return withBackend(state, step.backend, ({ monitor: _, ...backend }) => backend);
    case 'deleteBackend':
      return { ...state, backends: state.backends.filter(({ pool }) => pool !== step.id) };
    case 'createListener': {
      const { listener: name, settings, certificates } = step;
      const made: ObservedListener = {
        ...{ listener: id, name, settings, enabled: false, policies: [], fallback: NOT_FOUND_BACKEND },
        ...(certificates !== undefined && { certificates }),
      };
      return { ...state, listeners: [...state.listeners, made] };
    }
    case 'updateListener': {
      const { kind: _, listener: name, ...change } = step;
      return withListener(state, name, (listener) => ({ ...listener, ...change }));
    }
    case 'deleteListener':
      return { ...state, listeners: state.listeners.filter(({ listener }) => listener !== step.id) };
    case 'createPolicy': {
      const { key, target, enabled, position } = step;
      return withPolicies(state, step.listener, (policies) =>
        policies.toSpliced(position - 1, 0, { policy: id, key, target, enabled, rules: [] }),
      );
    }
    case 'createRule':
      return withPolicy(state, step, (policy) => ({
        ...policy,
        rules: typeof policy.rules === 'number' ? policy.rules + 1 : [...policy.rules, step.rule],
      }));
    case 'updatePolicy': {
      const { target, enabled } = step;
      return withPolicy(state, step, (policy) => ({
        ...policy,
        ...(target !== undefined && { target }),
        ...(enabled !== undefined && { enabled }),
      }));
    }
    case 'deletePolicy':
      return withPolicies(state, step.listener, (policies) =>
        policies.filter(({ policy }) => policy !== step.id),
      );
  }
}

/** The backend that a step names: the first with this meaning. */
export const backendIn = ({ backends }: Observed, id: string): ObservedBackend | undefined =>
  backends.find((backend) => backend.id === id);

export const listenerIn = ({ listeners }: Observed, name: string): ObservedListener | undefined =>
  listeners.find((listener) => listener.name === name);

type PolicyStep = Extract<Step, { kind: 'createRule' | 'updatePolicy' }>;

/** The policy that a step names. A step never names a policy that will be deleted as a duplicate: those have IDs. */
export const policyIn = (state: Observed, { listener, key }: PolicyStep): ObservedPolicy | undefined =>
  listenerIn(state, listener)?.policies.find((policy) => policy.key && keyText(policy.key) === keyText(key));

const replaced = <T>(list: readonly T[], old: T | undefined, change: (value: T) => T): T[] =>
  list.map((each) => (each === old ? change(each) : each));

const withBackend = (
  state: Observed,
  id: string,
  change: (backend: ObservedBackend) => ObservedBackend,
): Observed => ({ ...state, backends: replaced(state.backends, backendIn(state, id), change) });

const withListener = (
  state: Observed,
  name: string,
  change: (listener: ObservedListener) => ObservedListener,
): Observed => ({ ...state, listeners: replaced(state.listeners, listenerIn(state, name), change) });

const withPolicies = (
  state: Observed,
  name: string,
  change: (policies: readonly ObservedPolicy[]) => readonly ObservedPolicy[],
): Observed =>
  withListener(state, name, (listener) => ({ ...listener, policies: change(listener.policies) }));

function withPolicy(
  state: Observed,
  step: PolicyStep,
  change: (policy: ObservedPolicy) => ObservedPolicy,
): Observed {
  const policy = policyIn(state, step);
  return withPolicies(state, step.listener, (policies) => replaced(policies, policy, change));
}
