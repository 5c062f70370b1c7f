import { PROGRAM } from './repository.ts';

export type DataPlane = 'nginx' | 'embedded';

/** An image table for `tidegate up` with which routers use the embedded data plane even if nginx is installed. */
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
