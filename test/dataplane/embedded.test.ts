import { EmbeddedDriver } from '../../packages/tidegate/src/dataplane/embedded/index.ts';
import { accessControl } from './access-control.ts';
import { behavior } from './behavior/index.ts';
import { conformance } from './conformance.ts';
import { differential } from './differential.ts';
import { injection } from './injection.ts';
import { policies } from './policies/index.ts';

const make = (...args: ConstructorParameters<typeof EmbeddedDriver>) => new EmbeddedDriver(...args);

behavior(make);
conformance(make);
accessControl(make);
policies(make);
injection(make, async () => process.pid);
differential(make, 30);
