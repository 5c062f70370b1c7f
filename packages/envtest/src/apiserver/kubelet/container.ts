import { badRequest } from '@tidegate/serving';
import type { Pod } from '../resources/pod/types.ts';

/** The container of a request: the requested one, or the only one of the pod. */
export function chooseContainer({ metadata, spec }: Pod, asked: string): string {
  const containers = spec.containers ?? [];
  const all = [...(spec.initContainers ?? []), ...containers, ...(spec.ephemeralContainers ?? [])];
  const names = all.map(({ name }) => name ?? '');
  if (asked !== '') {
    if (names.includes(asked)) return asked;
    throw badRequest(`container ${asked} is not valid for pod ${metadata.name}`);
  }
  const [only, another] = containers;
  if (only?.name !== undefined && another === undefined) return only.name;
  throw badRequest(
    `a container name must be specified for pod ${metadata.name}, choose one of: [${names.join(' ')}]`,
  );
}
