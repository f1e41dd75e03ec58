//! Axes declared by hand, because `axes!` lives above this crate.
#![allow(dead_code, reason = "each test file uses some of them")]

/// `axis!(Name, id digit, hash)`, or `axis!(Name = 6, digit, hash, typenum)` for a fixed size.
#[macro_export]
macro_rules! axis {
    ($name:ident, $($id:ident)+, $hash:literal) => {
        $crate::axis!(@ $name, $($id)+, $hash, forge_axes::Dyn, forge_axes::Unknown);
    };
    ($name:ident = $n:literal, $($id:ident)+, $hash:literal, $number:ident) => {
        $crate::axis!(@ $name, $($id)+, $hash, forge_axes::Fixed<$n>, forge_axes::Known<forge_axes::typenum::$number>);
    };
    (@ $name:ident, $a:ident $b:ident, $hash:literal, $size:ty, $number:ty) => {
        #[derive(Clone, Copy, Default)]
        pub struct $name;
        impl forge_axes::Axis for $name {
            type Id = forge_axes::$a<forge_axes::$b<forge_axes::End>>;
            type Size = $size;
            type Number = $number;
            const KEY: forge_axes::Key<'static> = forge_axes::Key {
                hash: $hash,
                name: stringify!($name),
                path: concat!(module_path!(), "::", stringify!($name)),
                fixed: <$size as forge_axes::Size>::FIXED,
            };
        }
    };
}

axis!(Batch, X0 X0, 1);
axis!(In, X1 X0, 2);
axis!(Out, X0 X1, 3);
axis!(Seq, X1 X1, 4);
axis!(Head, XV X0, 5);
axis!(Dim, XV XV, 6);
axis!(Rows, X2 X3, 7);
axis!(Cols, X3 X2, 8);
axis!(Extra, X3 X3, 9);
axis!(Model = 6, X4 X0, 10, U6);
axis!(F2 = 2, X5 X0, 11, U2);
axis!(F3 = 3, X6 X0, 12, U3);
axis!(F5 = 5, X7 X0, 13, U5);

/// The names of a list.
pub fn names(keys: &[forge_axes::Key<'_>]) -> Vec<String> {
    keys.iter().map(|k| k.name.to_string()).collect()
}
