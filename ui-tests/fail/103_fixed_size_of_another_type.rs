// Sizes are `usize`: drop the suffix.
//~ ERROR: the fixed size of `In` is a `usize`
forge::axes! { Batch, In = 8u8 }

fn main() {}
