//! Axis names as types: a total type-level algebra of axis lists.
