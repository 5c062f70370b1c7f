export * from '../../kube/serving/field-error.ts';
