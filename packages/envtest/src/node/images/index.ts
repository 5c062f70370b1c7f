/**
 * What an image stands for on a machine without images. `images.yaml` is the user's table; the first entry whose
 * pattern matches decides:
 *
 *   images:
 *     - { image: 'nginx:*', command: [nginx, -p, '{root}', -g, 'daemon off;'], env: { TZ: UTC } }
 *     - { image: '*.internal/legacy', absent: true, message: not available at the edge }
 *     - { image: 'redis', standIn: true }
 *
 * Tidegate's own image is this program; whatever nobody names is answered for by the stand-in.
 */
export { ImageTable, readImages } from './images.ts';
