/** The resources that filters apply to, for `Filter.resources`. */
import { CONFIG_MAPS, ENDPOINT_SLICES, ENDPOINTS, PODS, SERVICES } from '@tidegate/kube';
import type { FilteredResource } from './filter.ts';

const unversioned = ({ group, resource }: FilteredResource): FilteredResource => ({ group, resource });

export const SERVICE: readonly FilteredResource[] = [unversioned(SERVICES)];
export const POD: readonly FilteredResource[] = [unversioned(PODS)];
export const CONFIG_MAP: readonly FilteredResource[] = [unversioned(CONFIG_MAPS)];
/** Both resources that contain the endpoints of a Service. */
export const ENDPOINT: readonly FilteredResource[] = [ENDPOINTS, ENDPOINT_SLICES].map(unversioned);
