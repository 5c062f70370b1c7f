/**
 * The stand-in for storage: volumes are directories of the nodes. The controllers create the PersistentVolumes, and the
 * node agents keep the directories. This file has the names that both need.
 */

/** The provisioner of the storage class, and the driver of its volumes. */
export const LOCAL_PATH_DRIVER = 'local-path.tidegate.io';
export const LOCAL_PATH_CLASS = 'local-path';
