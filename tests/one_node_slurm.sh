#!/usr/bin/env bash
# A real Slurm with one node, on loopback only: tests/one_node_slurm.sh start FOLDER, and stop FOLDER.
# Needs root, and Debian's slurm-wlm and munge. Afterwards: source FOLDER/environment
set -euo pipefail
action=$1 base=$(realpath -m "$2")

stop() {
    for name in slurmd slurmctld munged; do
        if [ -s "$base/$name.pid" ]; then
            kill "$(cat "$base/$name.pid")" 2> /dev/null || true
        fi
    done
}

start() {
    local host memory
    host=$(hostname -s)
    memory=$(awk '/MemAvailable/ { print int($2 / 1024 * 0.9) }' /proc/meminfo)
    mkdir -p "$base"/{munge,state,spool,log,bin}
    chmod 700 "$base/munge"
    head -c 1024 /dev/urandom > "$base/munge/key"
    chmod 600 "$base/munge/key"
    cat > "$base/slurm.conf" << CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=46817
SlurmdPort=46818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$base/munge/socket
CredType=cred/munge
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
StateSaveLocation=$base/state
SlurmdSpoolDir=$base/spool
SlurmctldPidFile=$base/slurmctld.pid
SlurmdPidFile=$base/slurmd.pid
SlurmctldLogFile=$base/log/slurmctld.log
SlurmdLogFile=$base/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=2,batch_sched_delay=0
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
ReturnToService=2
MinJobAge=300
KillWait=5
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) RealMemory=$memory State=UNKNOWN
PartitionName=main Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
CONF
    # Snakemake's job step drops SLURM_CONF before it calls srun.
    printf '#!/bin/sh\nSLURM_CONF=%q exec %q "$@"\n' "$base/slurm.conf" "$(command -v srun)" > "$base/bin/srun"
    chmod +x "$base/bin/srun"
    printf 'export SLURM_CONF=%q PATH=%q:$PATH\n' "$base/slurm.conf" "$base/bin" > "$base/environment"
    export SLURM_CONF="$base/slurm.conf"
    munged --key-file="$base/munge/key" --socket="$base/munge/socket" --pid-file="$base/munged.pid" \
        --log-file="$base/munge/log" --seed-file="$base/munge/seed" --num-threads=2 --force
    slurmctld -f "$SLURM_CONF"
    slurmd -f "$SLURM_CONF"
    for _ in $(seq 100); do
        if [ "$(sinfo --noheader --format=%T 2> /dev/null)" = idle ]; then
            return
        fi
        sleep 0.2
    done
    echo "the node did not become idle; see $base/log" >&2
    stop
    exit 1
}

"$action"
