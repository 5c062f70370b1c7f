/**
 * What is run for an image, on a machine without container images. `images.yaml` is the user's table; the first
 * entry whose pattern matches wins:
 *
 *   images:
 *     - { image: 'nginx:*', command: [nginx, -p, '{root}', -g, 'daemon off;'], env: { TZ: UTC } }
 *     - { image: '*.internal/legacy', absent: true, message: not available at the edge }
 *     - { image: 'redis', standIn: true }
 *
 * Tidegate's own image runs this program. Every other image runs the stand-in (`standin/`).
 *
 * One container start: `ImageTable.resolve` tries the user's entries (`table.ts` parses them, `pattern.ts` matches
 * names), then the built-in ones.
 */
export { ImageTable, readImages } from './images.ts';
