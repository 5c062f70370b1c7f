import {
  type KubeClient,
  POD_DISRUPTION_BUDGETS,
  type PodDisruptionBudget,
  type Resource,
} from '@tidegate/kube';

const OLD: Resource<PodDisruptionBudget> = { ...POD_DISRUPTION_BUDGETS, version: 'v1beta1' };

/** Clusters before Kubernetes 1.21 have v1beta1 only. The fields that routers use are the same in both versions. */
export async function servedDisruptionBudgets({
  discovery,
}: Pick<KubeClient, 'discovery'>): Promise<Resource<PodDisruptionBudget>> {
  const isOld = !(await discovery.serves(POD_DISRUPTION_BUDGETS)) && (await discovery.serves(OLD));
  return isOld ? OLD : POD_DISRUPTION_BUDGETS;
}
