"""Compare what memories rest on with the tree: state of anchors, verdicts, evidence, proposals."""
