// An axis is named by an identifier alone: no `struct`, no `type`.
//~ ERROR: expected the name of an axis, found the keyword `struct`
forge::axes! { struct Batch }

fn main() {}
