"""Detection quality: generated programs with planted races and near-misses, run under every tool, and what each tool saw."""
