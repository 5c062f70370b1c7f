import { getCondition, Informers, type KubeClient, orAborted } from '@tidegate/kube';
import { EDGE_APPLICATIONS, type EdgeApplication } from '../api/index.ts';
import { CommandError } from './process.ts';

/** What is printed, and whether the rollout has ended. */
interface State {
  readonly text: string;
  readonly end: 'complete' | 'stopped' | undefined;
}

/** Prints each new state until the rollout is complete or has stopped. Returns whether it is complete. */
export async function follow(
  client: KubeClient,
  application: EdgeApplication,
  watch: boolean,
  signal: AbortSignal,
): Promise<boolean> {
  const first = stateOf(application);
  if (!watch || first.end !== undefined) {
    console.log(first.text);
    return first.end === 'complete';
  }
  const { name, namespace } = application.metadata;
  const informers = new Informers(client);
  const stop = new AbortController();
  const ended = new Promise<boolean>((resolve, reject) => {
    let printed = '';
    const look = (found: EdgeApplication): void => {
      const { text, end } = stateOf(found);
      if (text !== printed) console.log(text);
      printed = text;
      if (end !== undefined) resolve(end === 'complete');
    };
    informers
      .for(EDGE_APPLICATIONS, { namespace: `${namespace}`, fieldSelector: `metadata.name=${name}` })
      .addHandler({
        onAdd: look,
        onUpdate: (_, found) => look(found),
        onDelete: () => reject(new CommandError(`EdgeApplication ${namespace}/${name} was deleted`)),
      });
  });
  const running = informers.run(AbortSignal.any([signal, stop.signal]));
  try {
    return await orAborted(ended, signal);
  } finally {
    stop.abort();
    await running;
  }
}

/** An application without a rollout is complete when it is ready. */
export function stateOf({ metadata, status }: EdgeApplication): State {
  if (status?.observedGeneration !== metadata.generation)
    return { text: 'Waiting for the manager to observe the change', end: undefined };
  const { rollout } = status ?? {};
  const ready = getCondition(status?.conditions, 'Ready');
  if (rollout === undefined || ready?.reason === 'RenderFailed')
    return {
      text: `${ready?.reason}: ${ready?.message}`,
      end: ready?.status === 'True' ? 'complete' : ready?.reason === 'RenderFailed' ? 'stopped' : undefined,
    };
  const { phase, message, updatedSites, availableSites, totalSites, held = [] } = rollout;
  const holds = held.length === 0 ? '' : `; ${held.length} held`;
  const text = `${phase}: ${updatedSites} of ${totalSites} sites updated, ${availableSites} available${holds}; ${message}`;
  return { text, end: phase === 'Complete' ? 'complete' : phase === 'Stopped' ? 'stopped' : undefined };
}
