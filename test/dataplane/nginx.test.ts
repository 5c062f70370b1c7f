import type { Driver } from '../../packages/tidegate/src/dataplane/driver.ts';
import { NginxDriver } from '../../packages/tidegate/src/dataplane/nginx/index.ts';
import { accessControl } from './access-control.ts';
import { behavior } from './behavior/index.ts';
import { conformance } from './conformance.ts';
import { differential } from './differential.ts';
import { injection } from './injection.ts';
import { policies } from './policies/index.ts';

const make = (...args: ConstructorParameters<typeof NginxDriver>) => new NginxDriver(...args);

const processesOf = async (driver: Driver): Promise<unknown> =>
  driver instanceof NginxDriver ? driver.processes() : undefined;

behavior(make);
conformance(make);
accessControl(make);
policies(make);
injection(make, processesOf);
differential(make, 30);
