/**
 * The services of OpenStack that the provisioner uses. `read-cloud.ts` and `kuryr-conf.ts` read where the cloud is;
 * `session.ts` authenticates with Keystone and makes calls; `octavia.ts` and `neutron.ts` know the paths
 * and bodies of one service each; `errors.ts` decides what an error means.
 */
export { isKind, OpenStackError } from './errors.ts';
export { type KuryrSettings, readKuryrConf } from './kuryr-conf.ts';
export { type FloatingIp, Neutron } from './neutron.ts';
export { idsIn, Octavia, type OctaviaKind, type OctaviaObject, tagsIn, textIn } from './octavia.ts';
export { readCloud } from './read-cloud.ts';
export { Session } from './session.ts';
