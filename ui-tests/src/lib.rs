//! The cases are in `fail/`, `fail-build/` and `pass/`; `tests/` runs them.
