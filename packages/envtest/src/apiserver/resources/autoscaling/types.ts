/** The fields of HorizontalPodAutoscalers that the server uses. */
import type { Condition, KubeObject } from '@tidegate/kube';
import type { LabelSelector } from '../validation/selectors.ts';

export interface CrossVersionReference {
  apiVersion?: string;
  kind?: string;
  name?: string;
}

export interface MetricIdentifier {
  name?: string;
  selector?: LabelSelector;
}

export interface MetricTarget {
  type?: string;
  value?: string;
  averageValue?: string;
  averageUtilization?: number;
}

/** The source of a metric, and its current value in the status. Which fields are set depends on the type. */
export interface MetricSource {
  /** Resource and ContainerResource. */
  name?: string;
  container?: string;
  /** Pods, Object and External. */
  metric?: MetricIdentifier;
  describedObject?: CrossVersionReference;
  target?: MetricTarget;
  current?: MetricTarget;
}

export const SOURCE_FIELDS = {
  Object: 'object',
  External: 'external',
  Pods: 'pods',
  Resource: 'resource',
  ContainerResource: 'containerResource',
} as const;

export type SourceField = (typeof SOURCE_FIELDS)[keyof typeof SOURCE_FIELDS];

export type Metric = { type?: string } & { [K in SourceField]?: MetricSource };

export const sourceOf = (metric: Metric | undefined): MetricSource | undefined => {
  const field = SOURCE_FIELDS[(metric?.type ?? '') as keyof typeof SOURCE_FIELDS];
  return field === undefined ? undefined : metric?.[field];
};

export interface ScalingRules {
  stabilizationWindowSeconds?: number;
  selectPolicy?: string;
  policies?: { type?: string; value?: number; periodSeconds?: number }[];
  tolerance?: string;
}

export interface HorizontalPodAutoscaler extends KubeObject {
  spec: {
    scaleTargetRef?: CrossVersionReference;
    minReplicas?: number;
    maxReplicas?: number;
    metrics?: Metric[];
    behavior?: { scaleUp?: ScalingRules; scaleDown?: ScalingRules };
  };
  status: {
    currentReplicas?: number;
    desiredReplicas?: number;
    observedGeneration?: number;
    lastScaleTime?: string;
    currentMetrics?: Metric[] | null;
    conditions?: Condition[];
  };
}
