// One `axes!` in a macro that is expanded twice declares two axes at one place, which count as one: pass the names in.
//~ ERROR: axis `left::Same` appears twice in `(left::Same, right::Same)`
use forge::prelude::*;

macro_rules! module {
    ($name:ident) => {
        mod $name {
            forge::axes! { Same }
        }
    };
}
module!(left);
module!(right);

fn main() {
    let x = Tensor::<(left::Same, right::Same)>::ones((2, 3));
    let _ = x.sum(left::Same);
}
