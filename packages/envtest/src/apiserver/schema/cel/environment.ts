/** The CEL environment of Kubernetes: the language and the extension libraries. */
import { Environment } from '@marcbachmann/cel-js';
import { registerFormats } from './library/formats.ts';
import { registerLists } from './library/lists.ts';
import { registerMacros } from './library/macros.ts';
import { registerNetworks } from './library/networks.ts';
import { registerQuantities } from './library/quantities.ts';
import { registerStrings } from './library/strings.ts';
import { registerUrls } from './library/urls.ts';

/** Created on first use, because registering the libraries takes time that most servers in tests can save. */
let base: Environment | undefined;

/** A new environment in which variables can be declared. */
export function kubernetesEnvironment(): Environment {
  base ??= makeBase();
  return base.clone();
}

function makeBase(): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false });
  // Numbers of different types are compared by value. The library supports that for `<` but not for `==`.
  environment.registerOperator('int == double', (a: bigint, b: number) => Number(a) === b);
  registerStrings(environment);
  registerLists(environment);
  registerMacros(environment);
  registerQuantities(environment);
  registerUrls(environment);
  registerNetworks(environment);
  registerFormats(environment);
  return environment;
}
