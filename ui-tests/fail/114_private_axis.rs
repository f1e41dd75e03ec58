// An axis that another module keeps to itself: make it `pub`, which is the default.
//~ ERROR: struct `Hidden` is private
mod model {
    forge::axes! { pub(self) Hidden }
}

fn main() {
    let _ = forge::Tensor::<model::Hidden>::ones(3);
}
