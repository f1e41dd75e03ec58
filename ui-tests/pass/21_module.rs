// Parameters are found by the names of fields.
use forge::nn::{Module, Param};
use forge::prelude::*;
axes! { In, Out }

#[derive(Module)]
struct Layer {
    weight: Param<(In, Out)>,
    #[module(name = "b")]
    bias: Param<Out>,
    #[module(skip)]
    rate: f32,
}

fn main() {
    let weight = Param::new(Tensor::<(In, Out)>::ones((3, 4)));
    let layer = Layer { weight, bias: Param::new(Tensor::<Out>::ones(4)), rate: 0.5 };
    let names: Vec<String> = layer.state_dict().keys().cloned().collect();
    assert_eq!(names, ["b", "weight"]);
    assert_eq!(layer.rate, 0.5);
}
