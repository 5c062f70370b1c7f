export * from '../../kube/serving/api-error.ts';
