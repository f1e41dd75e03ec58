// Axes are separated by commas.
//~ ERROR: expected `,` or a fixed size `Batch = 784`
forge::axes! { Batch In }

fn main() {}
