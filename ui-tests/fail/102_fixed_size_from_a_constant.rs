// A fixed size is a literal, because sizes are multiplied as types: write the number.
//~ ERROR: the fixed size of `In` must be an integer literal
const PIXELS: usize = 28 * 28;
forge::axes! { Batch, In = PIXELS }

fn main() {}
