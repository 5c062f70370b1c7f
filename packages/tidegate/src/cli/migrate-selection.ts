import type { Command } from 'commander';
import { type ClusterFlags, contextOption, kubeconfigOption } from './cluster-client.ts';
import { FILENAME_FLAGS } from './options.ts';

export interface MigrationFlags extends ClusterFlags {
  filename?: string[];
  namespace?: string;
  ingressClass?: string[];
  controller: string;
  configMap?: string;
}

/** The options that select Ingresses, for all commands of this folder. */
export const withSelection = (command: Command): Command =>
  command
    .option(
      FILENAME_FLAGS.replace('<file>', '<file...>'),
      'files with manifests to read instead of a cluster; - reads standard input',
    )
    .addOption(kubeconfigOption())
    .addOption(contextOption())
    .option(
      '-n, --namespace <name>',
      'read the Ingresses of this namespace only (default: of all namespaces)',
    )
    .option('--ingress-class <name...>', 'IngressClass of ingress-nginx (default: all with its controller)')
    .option(
      '--controller <name>',
      'controller of ingress-nginx in its IngressClasses',
      'k8s.io/ingress-nginx',
    )
    .option(
      '--config-map <namespace/name>',
      'ConfigMap of ingress-nginx (default: those named ingress-nginx-controller)',
    );
