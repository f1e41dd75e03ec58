//! The book, compiled: every chapter and the README are included here, so that each of their Rust blocks is a doctest.

macro_rules! chapters {
    ($($name:ident $file:literal;)*) => {
        $(
            #[doc = include_str!($file)]
            pub mod $name {}
        )*
    };
}

chapters! {
    readme "../README.md";
    why "src/why.md";
    axes "src/axes.md";
    tensors "src/tensors.md";
    autograd "src/autograd.md";
    training "src/training.md";
    amp "src/amp.md";
    reading_axis_errors "src/reading-axis-errors.md";
    semantics "src/semantics.md";
    determinism "src/determinism.md";
    credits "src/credits.md";
}
