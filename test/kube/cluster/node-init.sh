#!/bin/bash
# The first process of a node: arguments are the name of the node and its directory. It has mount, pid, uts, ipc and network
# namespaces of its own, so everything that runs on the node ends with it, like processes of a machine that loses power.
set -eu
name=$1 directory=$2
hostname "$name"
# kubelet and containerd mount volumes for each other.
mount --make-rshared /
# Programs of the node have fixed places. Like on a machine, /run is empty after a start, the others are not.
mkdir -p "$directory"/{log,kubelet,tidegate,sysctl} /var/lib/{kubelet,tidegate}
mount -t tmpfs tmpfs /run
mount --bind "$directory/log" /var/log
mount --bind "$directory/kubelet" /var/lib/kubelet
mount --make-rshared /var/lib/kubelet
mount --bind "$directory/tidegate" /var/lib/tidegate
# What is installed or configured on the node stays there.
for place in etc usr/local; do
  mkdir -p "$directory/changes/$place" "$directory/changes/work/$place"
  mount -t overlay overlay -o "lowerdir=/$place,upperdir=$directory/changes/$place,workdir=$directory/changes/work/$place" "/$place"
done
# kubelet writes these settings of the whole machine if they differ. It reads what it wants here, so they stay as they are.
while read -r setting value; do
  echo "$value" >"$directory/sysctl/${setting//\//.}"
  mount --bind "$directory/sysctl/${setting//\//.}" "/proc/sys/$setting"
done <<END
vm/overcommit_memory 1
vm/panic_on_oom 0
kernel/panic 10
kernel/panic_on_oops 1
END
echo started
# The first process gets the children of processes that have ended. bash waits for them when a signal reports their end.
trap : CHLD
sleep infinity &
while :; do wait $! || true; done
