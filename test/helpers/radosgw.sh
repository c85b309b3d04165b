#!/usr/bin/env bash
# A throwaway one-node Ceph with its S3 gateway: in memory, on loopback, no container, no service manager.
#
#   radosgw.sh DIR S3_PORT MON_PORT      (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: the user to create;
#                                           KMS_KEY_ID: a key of its key management service, which is for tests only)
#
# Prints "ready" once S3 answers, then obeys lines on stdin: "kill-gateway" (SIGKILL, objects stay) and
# "start-gateway", "create-user NAME ACCESS_KEY_ID SECRET_ACCESS_KEY", each answered "ok". Everything ends when stdin does, so nothing outlives the caller, whatever
# kills it. Logs and the monitor's database are in DIR, which must not exist and is removed at the end.
set -euo pipefail

dir=$1 s3_port=$2 mon_port=$3
export CEPH_CONF=$dir/ceph.conf
mkdir "$dir"
mkdir -p "$dir"/{log,mon,osd,rgw}

# Should this script itself be killed, the kernel ends its children.
with_parent=()
if command -v setpriv >/dev/null; then with_parent=(setpriv --pdeathsig KILL); fi

pids=()
end_all() {
  exec 2>/dev/null # Without bash's obituaries.
  # The store is in memory: there is nothing to flush.
  if [ ${#pids[@]} -gt 0 ]; then kill -9 "${pids[@]}" 2>/dev/null || true; fi
  wait
  rm -rf "$dir"
}
trap end_all EXIT
trap 'exit 1' INT TERM HUP

die() {
  echo "radosgw.sh: $1" >&2
  tail -n 5 "$dir"/log/*.log >&2 || true
  exit 1
}

run_in_background() { # NAME COMMAND…: sets $pid
  "${with_parent[@]}" "${@:2}" </dev/null >"$dir/log/$1.out" 2>&1 &
  pid=$!
  pids+=("$pid")
}

fsid=$(cat /proc/sys/kernel/random/uuid)
cat >"$CEPH_CONF" <<CONF
[global]
fsid = $fsid
mon_host = [v1:127.0.0.1:$mon_port]
monmap = $dir/monmap
auth_cluster_required = none
auth_service_required = none
auth_client_required = none
auth_allow_insecure_global_id_reclaim = true
mon_warn_on_insecure_global_id_reclaim_allowed = false
ms_bind_ipv4 = true
ms_bind_ipv6 = false
ms_bind_msgr2 = false
public_addr = 127.0.0.1
cluster_addr = 127.0.0.1
run_dir = $dir
admin_socket =
pid_file =
log_file = $dir/log/\$name.log
log_to_stderr = false
osd_pool_default_size = 1
osd_pool_default_min_size = 1
osd_pool_default_pg_num = 4
osd_pool_default_pgp_num = 4
osd_pool_default_pg_autoscale_mode = off
osd_crush_chooseleaf_type = 0
mon_allow_pool_size_one = true
mon_max_pg_per_osd = 1000
mon_data_avail_crit = 1
mon_data_avail_warn = 2
paxos_propose_interval = 0.05
paxos_min_wait = 0.01
[mon]
mon_data = $dir/mon
mon_cluster_log_file = $dir/log/cluster.log
[osd]
osd_data = $dir/osd
osd_objectstore = memstore
memstore_device_bytes = 4294967296
memstore_page_set = false
[client.rgw]
rgw_frontends = beast endpoint=127.0.0.1:$s3_port tcp_nodelay=1
rgw_data = $dir/rgw
rgw_dns_name = localhost
rgw_thread_pool_size = 32
rgw_override_bucket_index_max_shards = 1
rgw_multipart_min_part_size = 5242880
rgw_enable_usage_log = false
rgw_run_sync_thread = false
rgw_crypt_require_ssl = false
rgw_crypt_s3_kms_backend = testing
rgw_crypt_s3_kms_encryption_keys = $KMS_KEY_ID=$(head -c 32 /dev/urandom | base64)
CONF

start_monitor() {
  monmaptool --create --clobber --fsid "$fsid" --addv a "[v1:127.0.0.1:$mon_port]" "$dir/monmap" >/dev/null
  ceph-mon -i a --mkfs --monmap "$dir/monmap" >/dev/null 2>&1 || die 'the monitor could not make its database'
  run_in_background mon ceph-mon -f -i a
}

start_osd() {
  local uuid pid attempt
  uuid=$(cat /proc/sys/kernel/random/uuid)
  for attempt in 1 2 3 4 5; do
    ceph --connect-timeout 20 osd new "$uuid" >/dev/null 2>&1 && break
    [ "$attempt" -lt 5 ] || die 'the monitor does not answer'
    sleep 0.2
  done
  ceph-osd -i 0 --mkfs --osd-uuid "$uuid" >/dev/null 2>&1 || die 'the OSD could not make its store'
  # The OSD can lose a race against the monitor ("wrong fsid") and ends then; trying again works.
  for attempt in 1 2 3 4 5; do
    run_in_background osd ceph-osd -f -i 0
    wait_until_up "$pid" && return
    sleep 0.3
  done
  die 'the OSD does not start'
}

wait_until_up() { # OSD_PID: fails when that process ends
  local tick
  for tick in $(seq 150); do
    kill -0 "$1" 2>/dev/null || return 1
    ceph --connect-timeout 5 osd stat 2>/dev/null | grep -q '1 up' && return 0
    sleep 0.1
  done
  return 1
}

create_user() { # NAME ACCESS_KEY_ID SECRET_ACCESS_KEY
  radosgw-admin -n client.rgw --log-file "$dir/log/admin.log" user create --uid="$1" --display-name="$1" \
    --access-key="$2" --secret-key="$3" >/dev/null 2>"$dir/log/admin.err" ||
    die "the user could not be created: $(tail -n 2 "$dir/log/admin.err")"
}

start_gateway() {
  run_in_background rgw radosgw -f -n client.rgw
  gateway=$pid
  local tick
  for tick in $(seq 600); do
    kill -0 "$gateway" 2>/dev/null || die 'the gateway ended'
    (exec 3<>"/dev/tcp/127.0.0.1/$s3_port") 2>/dev/null && return
    sleep 0.05
  done
  die 'the gateway does not answer'
}

start_monitor
start_osd
create_user test "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY"
start_gateway
echo ready

while read -r order words; do
  case $order in
  # Words of ours, without spaces or what a shell would take for something else.
  create-user) create_user $words ;;
  kill-gateway)
    kill -9 "$gateway"
    { wait "$gateway" || true; } 2>/dev/null
    ;;
  start-gateway) start_gateway ;;
  *) die "unknown order: $order" ;;
  esac
  echo ok
done
