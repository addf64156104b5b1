LIMIT=3
names=(a b)
function stop { echo "stop"; }
run() {
	local now=$(date +%s)
	if [ "$1" = 'all' ]; then for n in a b; do echo $n; done; fi
	case $1 in a) echo a ;; b | c) stop ;; esac
	cat >out <<EOF
  kept  as it is
EOF
	[ -f x ] && { rm x; } || true
}
