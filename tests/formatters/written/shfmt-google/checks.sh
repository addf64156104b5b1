#!/usr/bin/env bash
# What `shfmt -s` simplifies.

needs_update() {
  [[ "$current" != "$wanted" ]] && [[ ! -z "$wanted" ]] && [[ ("$channel" = stable) ]]
}

count_down() {
  left=$(($1 - ($step * 2)))
  while ((($left > 0))); do
    left=$((${left} - 1))
    echo "costs \$5, says \"the shop\""
  done
}

in_folder() {
  ( (cd "$folder" && make) )
  name=$( (basename "$folder") )
}
