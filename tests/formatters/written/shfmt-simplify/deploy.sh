#!/bin/bash
strip_quotes() {
	local value="$1"
	value="${value%\'}"
	value="${value#\'}"
	echo "$value"
}

write_state() {
	local target="$1"
	cat >"$target/state.json" <<EOF
{
    "version": "$(cat "$target/VERSION" 2>/dev/null || echo "0.0.0")",
    "target": "$target"
}
EOF
}

install_all() {
	if [ -n "$1" ]; then
		pip install --quiet "$1" >install.log 2>&1
	fi
}
