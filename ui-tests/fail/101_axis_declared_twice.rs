// Two declarations of one name: keep one.
//~ ERROR: axis `Batch` is declared twice
forge::axes! { Batch, In, Batch }

fn main() {}
