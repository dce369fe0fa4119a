/**
 * What the guard runs, by any POSIX shell and by its built-in commands alone. It reads from the server:
 *
 *     + SLOT PID STARTTIME       a group, with the start time of its leader (`-`: unknown)
 *     - SLOT                     the group in that slot is empty
 *     sweep, and four lines:     Node, the script that sweeps, what cookies begin with, the cgroup (or nothing)
 *     end                        the server ends in good order
 *
 * A slot is a variable, since a shell takes long to search a long list. At the end of its input the server is
 * gone. Then those who have left their groups are looked for first: killing the groups takes their parents from
 * them. A pid whose start time is another one is a stranger's; where the leader is gone, its group has its number
 * to itself.
 */
export const GUARD_SCRIPT = `
trap '' HUP INT QUIT TERM TSTP TTIN TTOU
last=-1
runner=
while read -r word slot pid start; do
  case $word in
    +) eval "pid_$slot=$pid start_$slot=$start"
       if [ "$slot" -gt "$last" ]; then last=$slot; fi ;;
    -) eval "pid_$slot=" ;;
    sweep) IFS= read -r runner; IFS= read -r script; IFS= read -r prefix; IFS= read -r cgroup ;;
    end) exit 0 ;;
  esac
done

each() {
  slot=0
  while [ "$slot" -le "$last" ]; do
    eval "pid=\\$pid_$slot start=\\$start_$slot"
    if [ -n "$pid" ]; then "$1"; fi
    slot=$((slot + 1))
  done
}

print() {
  if [ "$start" = - ]; then echo "$pid"; else echo "$pid $start"; fi
}

is_foreign() {
  stat=
  while IFS= read -r line; do stat="$stat$line "; done < "/proc/$pid/stat" || return 1
  if [ -z "$stat" ] || [ "$start" = - ]; then return 1; fi
  # the name of the program comes before, in parentheses; field 22 is the 20th behind it
  set -- \${stat##*) }
  [ "\${20}" != "$start" ]
}

kill_group() {
  if is_foreign; then return; fi
  kill -s KILL -- "-$pid" || kill -s KILL "$pid"
}

if [ -n "$runner" ]; then
  { echo "$prefix"; echo "$cgroup"; each print; } | "$runner" "$script"
fi
each kill_group
if [ -n "$runner" ] && [ -n "$cgroup" ]; then echo 1 > "$cgroup/cgroup.kill"; fi
`;
