import { PROGRAM } from './repository.ts';

export type DataPlane = 'nginx' | 'embedded';

/** A table of images for `tidegate up`: routers are told to take nginx where there is one; with this, they do not. */
export const EMBEDDED_DATA_PLANE = {
  images: [
    {
      image: 'tidegate:*',
      command: [
        ...['/bin/sh', '-c', 'exec "$@" --data-plane=embedded', 'sh'],
        ...[process.execPath, PROGRAM],
      ],
    },
  ],
};
