/** The environment of a container, and the small language (`$(NAME)`) that its values and arguments are written in. */
export { PodEnvironment } from './environment.ts';
export { expand } from './expand.ts';
export { fieldValue } from './fields.ts';
export { type Allocatable, resourceValue } from './resources.ts';
