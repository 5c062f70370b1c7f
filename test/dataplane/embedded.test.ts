import { EmbeddedDriver } from '../../src/dataplane/embedded/index.ts';
import { behaviour } from './behaviour/index.ts';

behaviour((options, dependencies) => new EmbeddedDriver(options, dependencies));
